"""Retry schedule: when the next attempt is due, with Retry-After honoured within bounds."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from app.core.outgoing_http.retry_after import retry_after_s

_MOST_JITTER_S = 2.0
_HONOURS_RETRY_AFTER = (429, 503)


def next_attempt_at(
    *,
    attempt: int,
    ended_at: datetime,
    delays_s: Sequence[float],
    status_code: int | None = None,
    headers: Mapping[str, str] | None = None,
    jitter: Callable[[], float] = random.random,
) -> datetime:
    """Return when the attempt after this failed one is due, counted from its end.

    Args:
        attempt: number of the failed attempt, from 1.
        delays_s: delays before attempts 2 and 3.
        jitter: returns a number from 0 to 1; jitter only adds to a delay.
    """
    delay_s = delays_s[min(attempt, len(delays_s)) - 1]
    wait_s = delay_s
    if status_code in _HONOURS_RETRY_AFTER:
        requested_s = retry_after_s((headers or {}).get("retry-after", ""), ended_at)
        wait_s = max(delay_s, min(requested_s, 2 * delay_s))
    return ended_at + timedelta(seconds=wait_s + jitter() * min(_MOST_JITTER_S, delay_s))
