"""Client address of a request; only trusted proxies may forward it."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address


def client_address(
    peer: str, forwarded_for: str, trusted: Sequence[IPv4Network | IPv6Network]
) -> Address | None:
    """Walk X-Forwarded-For from the right past trusted proxies; None if it is malformed.

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


def is_trusted(peer: str, trusted: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Return whether the connection comes from a trusted proxy."""
    address = _parse(peer)
    return address is not None and _trusted(address, trusted)


def request_scheme(
    scheme: str,
    peer: str,
    forwarded_proto: str,
    trusted: Sequence[IPv4Network | IPv6Network],
) -> str:
    """Return X-Forwarded-Proto if the peer is a trusted proxy and sends it, else `scheme`."""
    return (forwarded_proto if is_trusted(peer, trusted) else "") or scheme


def _trusted(address: Address, trusted: Sequence[IPv4Network | IPv6Network]) -> bool:
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
