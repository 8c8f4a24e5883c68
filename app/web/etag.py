"""The caller's preconditions."""

from flask import request


def if_match() -> str | None:
    """Return the If-Match header as sent, or None."""
    return request.headers.get("If-Match")
