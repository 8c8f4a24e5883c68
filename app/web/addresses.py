"""Addresses of a request: the client's, which only trusted proxies may forward, and the service's own."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from flask import request

from app.core.errors import MalformedRequest
from app.core.ip_addresses import Address, Network
from app.core.settings import Settings


def client_address(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> Address | None:
    """Return the client's address, None if it is malformed; trusted proxies are skipped.

    Args:
        peer: the address of the connection; empty for a Unix socket, which counts as loopback.
        forwarded_for: the header as sent; ignored unless the peer is trusted.
    """
    address = _parse(peer) if peer else IPv4Address("127.0.0.1")
    if address is None or not _trusted(address, trusted):
        return address
    for hop in reversed([part.strip() for part in forwarded_for.split(",") if part.strip()]):
        address = _parse(_without_port(hop))
        if address is None or not _trusted(address, trusted):
            return address
    return address


def is_trusted(peer: str, trusted: Sequence[Network]) -> bool:
    """Return whether the connection comes from a trusted proxy."""
    address = _parse(peer)
    return address is not None and _trusted(address, trusted)


def request_scheme(
    scheme: str,
    peer: str,
    forwarded_proto: str,
    trusted: Sequence[Network],
) -> str:
    """Return X-Forwarded-Proto if the peer is a trusted proxy and sends it, else `scheme`."""
    return (forwarded_proto if is_trusted(peer, trusted) else "") or scheme


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


def _trusted(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


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


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
