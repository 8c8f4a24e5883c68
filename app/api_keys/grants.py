"""What one key may do to another: never give or touch more than it has itself (security, 2)."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network

from app.core.errors import InsufficientScope


@dataclass(frozen=True, slots=True)
class Caller:
    """The key that asks; None in place of a caller means the command line, which may do all."""

    key_id: str
    scopes: frozenset[str]
    ip_allowlist: tuple[str, ...]
    expires_at: datetime | None


def require_reach(caller: Caller | None, scopes: list[str]) -> None:
    """Refuse to touch, or to make, a key with scopes that the caller lacks."""
    if caller is not None and not caller.scopes.issuperset(scopes):
        raise InsufficientScope("That key has, or would have, scopes that your key lacks.")


def require_within(
    caller: Caller | None, ip_allowlist: list[str], expires_at: datetime | None
) -> None:
    """Refuse a key that could be used from more places, or for longer, than the caller's."""
    if caller is None:
        return
    if caller.ip_allowlist and not _inside(ip_allowlist, caller.ip_allowlist):
        raise InsufficientScope("The ipAllowlist must lie inside that of your key.")
    if caller.expires_at is not None and (expires_at is None or expires_at > caller.expires_at):
        raise InsufficientScope("expiresAt may not be later than that of your key.")


def _inside(inner: list[str], outer: tuple[str, ...]) -> bool:
    return bool(inner) and all(
        any(_contains(ip_network(large), ip_network(small)) for large in outer) for small in inner
    )


def _contains(large: IPv4Network | IPv6Network, small: IPv4Network | IPv6Network) -> bool:
    if isinstance(large, IPv4Network) and isinstance(small, IPv4Network):
        return small.subnet_of(large)
    if isinstance(large, IPv6Network) and isinstance(small, IPv6Network):
        return small.subnet_of(large)
    return False
