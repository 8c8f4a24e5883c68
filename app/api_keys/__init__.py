"""API keys: who may call, from where and for what; and the gate that every request passes."""
