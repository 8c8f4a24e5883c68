"""Rate-limit policies, and their headers in answers."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from flask import Request, Response

from app.core.clock import utc_now
from app.core.errors import RateLimitExceeded
from app.core.ip_addresses import Address, counted_networks
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Limit, LimitStatus, Visit
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.core.settings import Settings
from app.web.addresses import client_address, is_trusted
from app.web.parser import LARGE_BODY_BYTES
from app.web.principal import DEFAULT, EXPENSIVE, KEYS

AUTH_FAILURES = "auth-failures"


class Policies:
    """Limits by policy, as set by the settings."""

    def __init__(self, settings: Settings) -> None:
        self._rates: dict[str, RateLimit] = {
            DEFAULT: settings.rate_limit_default,
            EXPENSIVE: settings.rate_limit_expensive,
            KEYS: settings.rate_limit_keys,
            AUTH_FAILURES: settings.rate_limit_auth_failures,
        }

    def for_key(self, key_id: str, policy: str, body_bytes: int = 0) -> list[Limit]:
        """Return the default limit of a key and the limit of the endpoint's policy.

        A body counts as one request for each 64 KiB of it.
        """
        cost = max(1, math.ceil(body_bytes / LARGE_BODY_BYTES))
        return [
            replace(self._limit(name, key_id), cost=cost)
            for name in dict.fromkeys((DEFAULT, policy))
        ]

    def for_failures(self, address: Address) -> list[Limit]:
        """Return the limits on failed authentications from one address."""
        return [
            self._limit(AUTH_FAILURES, network, factor)
            for network, factor in counted_networks(address)
        ]

    def _limit(self, policy: str, caller: str, factor: int = 1) -> Limit:
        rate = self._rates[policy]
        return Limit(policy, caller, rate.limit * factor, rate.window_s)


def count_failure(runtime: Runtime, policies: Policies, request: Request) -> None:
    """Count a failed authentication; after too many from one address raise a 429 instead.

    Not for local callers and proxies: one bad client behind a proxy that hides its address would use
    up the limit of all others.
    """
    trusted = runtime.settings.trusted_proxies
    address = client_address(request, trusted)
    if address is None or address.is_loopback or is_trusted(address, trusted):
        return
    with suppress(StateUnavailable):
        visit = Visit(now=utc_now(), limits=policies.for_failures(address))
        admission = runtime.state.visit(visit)
        if not admission.admitted:
            raise refuse(admission.limits)


def seconds_to_wait(statuses: Sequence[LimitStatus]) -> int:
    """Return the whole seconds until all of these limits admit a request again."""
    return max(1, math.ceil(max(status.wait_s for status in statuses)))


def refuse(statuses: Sequence[LimitStatus]) -> RateLimitExceeded:
    """Build the 429 error with the whole seconds to wait."""
    return RateLimitExceeded(retry_after_s=seconds_to_wait(statuses))


def add_headers(response: Response, statuses: Sequence[LimitStatus], now: datetime) -> None:
    """Add policies and remaining requests, in the standard and the older headers."""
    if not statuses:
        return
    policies = ", ".join(
        f'"{status.limit.policy}";q={status.limit.limit};w={status.limit.window_s}'
        for status in statuses
    )
    remaining = ", ".join(
        f'"{status.limit.policy}";r={status.remaining};t={math.ceil(status.refill_s)}'
        for status in statuses
    )
    tightest = min(statuses, key=lambda status: status.remaining)
    response.headers.extend(
        {
            "RateLimit-Policy": policies,
            "RateLimit": remaining,
            "X-RateLimit-Limit": str(tightest.limit.limit),
            "X-RateLimit-Remaining": str(tightest.remaining),
            "X-RateLimit-Reset": str(math.ceil(now.timestamp() + tightest.full_s)),
        }
    )
