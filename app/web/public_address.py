"""Public address of the service, for links in answers."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import request

from app.core.errors import MalformedRequest
from app.core.settings import Settings


def public_address(settings: Settings) -> str:
    """Return CQE_PUBLIC_URL, or else the address that this request was sent to.

    The caller chooses the Host header, so it is used only if it names this machine.

    Raises:
        MalformedRequest: the Host header names another machine, and CQE_PUBLIC_URL is not set.
    """
    if settings.public_url:
        return settings.public_url
    host = urlsplit(request.host_url).hostname or ""
    here = ("localhost", settings.host.casefold(), request.environ.get("SERVER_NAME", ""))
    if host not in here and not _is_loopback(host):
        raise MalformedRequest(
            "The Host header does not name this service: set CQE_PUBLIC_URL to the address that "
            "callers use."
        )
    return request.host_url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
