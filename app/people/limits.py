"""Limits on sign-in attempts, spent before a password is hashed."""

import math

from app.core.clock import utc_now
from app.core.errors import RateLimitExceeded, ServiceUnavailable
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Limit, Visit
from app.core.runtime import Runtime
from app.people.service import folded

# An office may share one address.
_PEOPLE_PER_ADDRESS = 6


def spend_attempt(runtime: Runtime, *, name: str, address: str) -> None:
    """Spend one attempt of this name and of this address.

    Raises:
        RateLimitExceeded: there were too many; nothing was spent.
        ServiceUnavailable: attempts cannot be counted right now.
    """
    rate = runtime.settings.rate_limit_sign_in
    limits = (
        Limit("sign-in-name", folded(name), rate.limit, rate.window_s),
        Limit("sign-in-address", address, rate.limit * _PEOPLE_PER_ADDRESS, rate.window_s),
    )
    try:
        admission = runtime.state.visit(Visit(now=utc_now(), limits=limits))
    except StateUnavailable as error:
        raise ServiceUnavailable(
            "Sign-in is not possible right now; try again.", retry_after_s=5
        ) from error
    if not admission.admitted:
        wait_s = max(1, math.ceil(max(status.wait_s for status in admission.limits)))
        raise RateLimitExceeded(
            f"Too many attempts to sign in: wait {wait_s} seconds.", retry_after_s=wait_s
        )
