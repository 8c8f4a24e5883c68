"""Addresses at which the web server is reached, as `up` prints them."""

import socket
from contextlib import suppress
from ipaddress import ip_address

from app.core.settings import Settings

LOOPBACK_OF_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
# Addresses for documentation: no packet is sent to them.
_FAR_AWAY = {"0.0.0.0": (socket.AF_INET, "192.0.2.1"), "::": (socket.AF_INET6, "2001:db8::1")}  # noqa: S104


def of_listener(settings: Settings) -> list[str]:
    """Return the URLs of the service: for a wildcard host, that of this machine comes first."""
    hosts = [LOOPBACK_OF_WILDCARD.get(settings.host, settings.host)]
    if settings.host in _FAR_AWAY:
        hosts += _outgoing_address(*_FAR_AWAY[settings.host])
    return [
        f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
        for host in hosts
    ]


def tls_notes(settings: Settings) -> list[str]:
    """Return what a caller on another machine has to know about TLS; nothing on loopback alone."""
    if _is_loopback(settings.host):
        return []
    if settings.require_tls == "0":
        return [
            "  TLS        off (CQE_REQUIRE_TLS=0): anybody on the way reads keys and recordings"
        ]
    return [
        "  TLS        other machines are answered over HTTPS only: end TLS at a proxy in front, set",
        "             CQE_TRUSTED_PROXIES and CQE_PUBLIC_URL (docs/web-server.md). For a trial in a",
        "             network that you trust, CQE_REQUIRE_TLS=0 answers plain HTTP, too.",
    ]


def _outgoing_address(family: socket.AddressFamily, far_away: str) -> list[str]:
    """Return the address from which this machine reaches others, if it reaches any."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((far_away, 9))
        return [probe.getsockname()[0]]
    return []


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
