"""API keys, and the authentication of requests by them."""
