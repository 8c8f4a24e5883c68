"""IP addresses and networks of either version, and loopback addresses."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NETWORK_FORM = re.compile(r"[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?", re.ASCII)
# Addresses of peers are compared as IPv4, so that no peer is in such a network.
_MAPPED_IPV4 = IPv6Network("::ffff:0:0/96")


def network_of(text: str) -> Network:
    """Parse an address, or a network whose host bits are 0, in prefix form.

    Raises:
        ValueError: it is neither, or it is IPv4 written as IPv6.
    """
    if not _NETWORK_FORM.fullmatch(text):
        raise ValueError(f"{text!r} is not a network such as 10.0.0.0/8 or 2001:db8::/32")
    network = ip_network(text, strict=True)
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED_IPV4):
        raise ValueError(f"{text!r} is IPv4 written as IPv6: write it as IPv4, such as 10.0.0.0/8")
    return network


def counted_networks(address: Address | None) -> list[tuple[str, int]]:
    """Return what limits count an address by, each with the factor of its limit.

    A visitor with one address of IPv6 has the /64 around it, and may have a /48: one visitor must not
    count as many. None, a malformed address, counts like one address.
    """
    if not isinstance(address, IPv6Address):
        return [(str(address or ""), 1)]
    bits = int(address)
    return [
        (str(IPv6Network((bits >> 128 - prefix << 128 - prefix, prefix))), factor)
        for prefix, factor in ((64, 1), (48, 4))
    ]


def is_loopback(host: str) -> bool:
    """Return whether a host is `localhost`, a name below it, or a loopback address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
