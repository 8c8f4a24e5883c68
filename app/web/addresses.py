"""Addresses of a request: the client's, which only trusted proxies may forward, and the service's own."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from flask import Request, request

from app.core.errors import MalformedRequest
from app.core.ip_addresses import Address, Network, is_loopback
from app.core.settings import Settings


def peer_address(request: Request) -> Address | None:
    """Return the address of the connection; a Unix socket, which has none, counts as loopback."""
    peer = request.environ.get("REMOTE_ADDR", "")
    return _parse(peer) if peer else IPv4Address("127.0.0.1")


def client_address(request: Request, trusted: Sequence[Network]) -> Address | None:
    """Return the client's address, None if it is malformed; trusted proxies are skipped.

    X-Forwarded-For counts only if a trusted proxy has sent it.
    """
    address = peer_address(request)
    if address is None or not is_trusted(address, trusted):
        return address
    forwarded_for = request.headers.get("X-Forwarded-For", "")
    for hop in reversed([part.strip() for part in forwarded_for.split(",") if part.strip()]):
        address = _parse(_without_port(hop))
        if address is None or not is_trusted(address, trusted):
            return address
    return address


def forwarded_scheme(request: Request, trusted: Sequence[Network]) -> str:
    """Return X-Forwarded-Proto if a trusted proxy has sent it, else an empty text."""
    peer = _parse(request.environ.get("REMOTE_ADDR", ""))
    if peer is None or not is_trusted(peer, trusted):
        return ""
    return request.headers.get("X-Forwarded-Proto", "")


def is_trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def requested_host() -> str:
    """Return the host that this request was sent to, without its port; empty if it is malformed."""
    try:
        return urlsplit(request.host_url).hostname or ""
    except ValueError:
        return ""


def public_address(settings: Settings) -> str:
    """Return CQE_PUBLIC_URL, or else the address that this request was sent to.

    The caller chooses the Host header, so it is used only if it names this machine.

    Raises:
        MalformedRequest: the Host header names another machine, and CQE_PUBLIC_URL is not set.
    """
    if settings.public_url:
        return settings.public_url
    host = requested_host()
    if not _is_here(host, settings):
        raise _foreign_host()
    return request.host_url.rstrip("/")


def require_own_host(settings: Settings) -> None:
    """Check that a browser has reached this service under a name of its own.

    A page of another site can have its name resolve to this machine, and would then read our pages as
    its own (DNS rebinding). It cannot do that with an IP address, so each of them is accepted.

    Raises:
        MalformedRequest: the Host header names neither CQE_PUBLIC_URL, nor this machine, nor an IP address.
    """
    host = requested_host()
    is_own = (
        _is_here(host, settings)
        or _parse(host) is not None
        or (bool(settings.public_url) and host == urlsplit(settings.public_url).hostname)
    )
    if not is_own:
        raise _foreign_host()


def _is_here(host: str, settings: Settings) -> bool:
    here = (settings.host.casefold(), request.environ.get("SERVER_NAME", ""))
    return host in here or is_loopback(host)


def _foreign_host() -> MalformedRequest:
    return MalformedRequest(
        "The Host header does not name this service: set CQE_PUBLIC_URL to the address that callers use."
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].split("]", 1)[0]
    return hop.split(":", 1)[0] if hop.count(":") == 1 else hop
