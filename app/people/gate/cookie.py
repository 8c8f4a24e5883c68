"""Session cookie: its name, and whether a browser takes it as `Secure` over this connection."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Request
from werkzeug.wrappers import Response

from app.core.settings import Settings
from app.web.addresses import request_scheme

_SECURE_NAME, _PLAIN_NAME = "__Host-cqe", "cqe_session"


def is_secure(request: Request, settings: Settings) -> bool:
    """Whether browsers take `Secure` cookies here: over https, and from this machine itself."""
    return own_scheme(request, settings) == "https" or _is_this_machine(request)


def read(request: Request, settings: Settings) -> str:
    """Return the cookie's value, or an empty text."""
    return request.cookies.get(_name(request, settings), "")


def write(response: Response, request: Request, settings: Settings, token: str) -> None:
    """Set the cookie; the session in the database decides how long it is valid."""
    response.set_cookie(
        _name(request, settings),
        token,
        path="/",
        max_age=settings.session_max_s,
        secure=is_secure(request, settings),
        httponly=True,
        samesite="Lax",
    )


def clear(response: Response, request: Request, settings: Settings) -> None:
    """Make the browser forget the cookie."""
    response.delete_cookie(
        _name(request, settings),
        path="/",
        secure=is_secure(request, settings),
        httponly=True,
        samesite="Lax",
    )


def own_scheme(request: Request, settings: Settings) -> str:
    """Return the scheme that the browser uses, as a trusted proxy says or the connection is."""
    return request_scheme(
        request.scheme,
        request.environ.get("REMOTE_ADDR", ""),
        request.headers.get("X-Forwarded-Proto", ""),
        settings.trusted_proxies,
    )


def _name(request: Request, settings: Settings) -> str:
    return _SECURE_NAME if is_secure(request, settings) else _PLAIN_NAME


def _is_this_machine(request: Request) -> bool:
    host = urlsplit(request.host_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
