"""Requests to OpenAI-compatible servers, and the memory of whether they answer."""
