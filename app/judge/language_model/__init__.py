"""The judge that asks a language model over an OpenAI-compatible endpoint."""
