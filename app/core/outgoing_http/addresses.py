"""Address policy of outgoing requests: allowed URLs, and allowed addresses behind them."""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from app.core.ip_addresses import Address, Network
from app.core.process.stopping import in_thread

MAX_URL_LENGTH = 2048
_PORTS = {"https": (443, 8443), "http": (80,)}
_MAIL_PORTS = (25, 465, 587, 2525)
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")

# Python's `is_global` is not enough: it accepts multicast, 192.0.0.8 and 192.88.99.1.
_CLOSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # the host agent of Azure machines
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_OPEN_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
# Networks of IPv6 whose last 32 bits are the IPv4 address that is really reached.
_WRAPPED = tuple(IPv6Network(text) for text in ("::ffff:0:0/96", "64:ff9b::/96"))


class UrlRefused(Exception):
    """The URL may not be called; the text is a sentence for its owner and names no address."""


class NameNotResolved(Exception):
    """The host name could not be resolved."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL that say where a request goes."""

    scheme: str
    host: str
    port: int

    @property
    def is_tls(self) -> bool:
        return self.scheme == "https"

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _PORTS[self.scheme][0]
        return host if self.port == default else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Allowed targets: public addresses on the usual ports, and the networks that are listed."""

    allowed: tuple[Network, ...] = ()
    allow_http: bool = False

    def locate(self, url: str, *, timeout_s: float) -> tuple[Target, tuple[Address, ...]]:
        """Parse the URL, resolve its name and judge every address of it.

        Raises:
            UrlRefused: the form or an address is not acceptable.
            NameNotResolved: the name has no address.
            TimeoutError: the resolver did not answer in time.
        """
        target = self.parse(url)
        addresses = resolve(target.host, timeout_s)
        self.judge(target, addresses)
        return target, addresses

    def parse(self, url: str) -> Target:
        """Parse the URL; refuse what two parsers could read in two ways."""
        if len(url) > MAX_URL_LENGTH:
            raise UrlRefused(f"A URL has at most {MAX_URL_LENGTH:,} characters.")
        if not _PRINTABLE.fullmatch(url) or "\\" in url:
            raise UrlRefused("Write the URL in printable ASCII, names as xn--…, without spaces.")
        target = _target_of(url)
        if not target.is_tls and not self.allow_http:
            raise UrlRefused("Use https; CQE_WEBHOOK_ALLOW_HTTP=1 allows http for development.")
        return target

    def judge(self, target: Target, addresses: Sequence[Address]) -> None:
        """Refuse unless every address may be reached on this port."""
        if not self._allows(addresses, usual_port=target.port in _PORTS[target.scheme]):
            raise UrlRefused(NOT_REACHABLE)

    def locate_mail_server(self, host: str, port: int, *, timeout_s: float) -> tuple[Address, ...]:
        """Resolve the name of a mail server and judge every address of it; raises as `locate` does."""
        addresses = resolve(host, timeout_s)
        if not self._allows(addresses, usual_port=port in _MAIL_PORTS):
            raise UrlRefused(MAIL_NOT_REACHABLE)
        return addresses

    def _allows(self, addresses: Sequence[Address], *, usual_port: bool) -> bool:
        return all(
            self._is_listed(address) or (usual_port and is_public(address)) for address in addresses
        )

    def _is_listed(self, address: Address) -> bool:
        forms = (address, unwrapped(address))
        return any(form in network for network in self.allowed for form in forms)


# For addresses that the operator has set: their own machine and network are meant, too.
ANYWHERE = AddressPolicy((IPv4Network("0.0.0.0/0"), IPv6Network("::/0")), allow_http=True)

# One sentence for a name without an address, one of an internal network, and a refused port: the
# difference would tell callers which internal names exist.
NOT_REACHABLE = (
    "The URL's host must have public addresses only, and its port must be 443 or 8443; "
    "CQE_WEBHOOK_ALLOWED_CIDRS lists the internal networks that are allowed."
)

MAIL_NOT_REACHABLE = (
    "The mail server must have public addresses only, and its port must be one of "
    f"{', '.join(map(str, _MAIL_PORTS))}; CQE_WEBHOOK_ALLOWED_CIDRS lists the internal networks that "
    "are allowed."
)


def is_public(address: Address) -> bool:
    """Return whether the address belongs to the public internet, in whatever form it is written."""
    inner = unwrapped(address)
    if isinstance(inner, IPv4Address):
        return not any(inner in network for network in _CLOSED_V4)
    return inner in _OPEN_V6 and not any(inner in network for network in _CLOSED_V6)


def unwrapped(address: Address) -> Address:
    """Return the IPv4 address inside a mapped or NAT64 form; any other address as it is."""
    if isinstance(address, IPv6Address) and any(address in network for network in _WRAPPED):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def resolve(host: str, timeout_s: float) -> tuple[Address, ...]:
    """Ask the system's resolver for every address of a host, in its order.

    The resolver cannot be interrupted: it runs in a thread that is left behind when it hangs.
    """
    try:
        return _addresses(host, socket.AI_NUMERICHOST)
    except NameNotResolved:
        pass
    answer = in_thread(lambda: _addresses(host, 0), name="resolve")
    try:
        return answer.result(timeout=max(timeout_s, 0))
    except TimeoutError:
        raise TimeoutError("the resolver did not answer") from None


def _addresses(host: str, flags: int) -> tuple[Address, ...]:
    try:
        entries = socket.getaddrinfo(
            host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=flags
        )
    except (OSError, UnicodeError) as error:
        raise NameNotResolved(host) from error
    return tuple(dict.fromkeys(ip_address(str(entry[4][0])) for entry in entries))


def _target_of(url: str) -> Target:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlRefused("This is not a URL.") from error
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UrlRefused("A URL starts with https:// and a host name.")
    if "@" in parts.netloc:
        raise UrlRefused("A URL holds no user name and no password.")
    if "#" in url:
        raise UrlRefused("A URL holds no fragment.")
    if not _is_host(parts.hostname) or port == 0:
        raise UrlRefused("The host of the URL is neither a name nor an address.")
    return Target(parts.scheme, parts.hostname, port or _PORTS[parts.scheme][0])


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and _NAME.fullmatch(host) is not None
    try:
        return "%" not in host and bool(ip_network(host))
    except ValueError:
        return False
