"""The address at which callers reach the service, for links that they can follow as they are."""

from flask import request

from app.core.settings import Settings


def public_address(settings: Settings) -> str:
    """Return the address that the settings name, else the one that this request came to."""
    return settings.public_url or request.host_url.rstrip("/")
