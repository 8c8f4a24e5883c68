"""Privilege escalation: no API key may make, change or rotate one that may do more."""

from ipaddress import IPv4Network, IPv6Network, ip_network

from app.api_keys.models import ApiKey, SignaturePolicy
from app.core.errors import InsufficientScope
from app.core.principal import Principal

_FROM_STRICT_TO_LAX = (SignaturePolicy.REQUIRED, SignaturePolicy.DEFAULT, SignaturePolicy.OPTIONAL)


def require_within(caller: Principal | None, key: ApiKey) -> None:
    """Refuse to make, change, rotate or revoke a key that may do more than the caller's.

    A key may do more if it has another scope, works from another network or for longer, or demands
    less of a request. The command line has no caller, and may do all.

    Raises:
        InsufficientScope: the message names the field.
    """
    if caller is None:
        return
    if not caller.scopes.issuperset(key.scopes):
        raise InsufficientScope("That key has, or would have, scopes that your key lacks.")
    if caller.ip_allowlist and not _is_inside(key.ip_allowlist, caller.ip_allowlist):
        raise InsufficientScope("ipAllowlist must lie inside that of your key.")
    if caller.expires_at is not None and (
        key.expires_at is None or key.expires_at > caller.expires_at
    ):
        raise InsufficientScope("expiresAt must not be later than that of your key.")
    if _laxness(key.signature_policy) > _laxness(caller.signature_policy):
        raise InsufficientScope(
            f"signaturePolicy must be as strict as that of your key, {caller.signature_policy}."
        )
    if caller.require_nonce and not key.require_nonce:
        raise InsufficientScope("requireNonce must be true, as it is for your key.")


def _laxness(policy: str) -> int:
    return _FROM_STRICT_TO_LAX.index(SignaturePolicy(policy))


def _is_inside(inner: list[str], outer: tuple[str, ...]) -> bool:
    return bool(inner) and all(
        any(_contains(ip_network(large), ip_network(small)) for large in outer) for small in inner
    )


def _contains(large: IPv4Network | IPv6Network, small: IPv4Network | IPv6Network) -> bool:
    if isinstance(large, IPv4Network) and isinstance(small, IPv4Network):
        return small.subnet_of(large)
    if isinstance(large, IPv6Network) and isinstance(small, IPv6Network):
        return small.subnet_of(large)
    return False
