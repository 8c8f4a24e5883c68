"""When the next attempt is due (docs/webhooks.md)."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from app.core.retry_after import retry_after_s

_MAX_JITTER_S = 2.0
_ASKS_FOR_TIME = (429, 503)


def next_attempt_at(
    *,
    attempt: int,
    ended_at: datetime,
    delays_s: Sequence[float],
    status_code: int | None = None,
    headers: Mapping[str, str] | None = None,
    jitter: Callable[[], float] = random.random,
) -> datetime:
    """Return the moment of the attempt after this failed one, counted from its end.

    Args:
        attempt: number of the failed attempt, from 1.
        delays_s: waits before attempts 2 and 3.
        jitter: a number from 0 to 1; it only ever adds.
    """
    delay_s = delays_s[min(attempt, len(delays_s)) - 1]
    wait_s = delay_s
    if status_code in _ASKS_FOR_TIME:
        asked_s = retry_after_s((headers or {}).get("retry-after", ""), ended_at)
        wait_s = max(delay_s, min(asked_s, 2 * delay_s))
    return ended_at + timedelta(seconds=wait_s + jitter() * min(_MAX_JITTER_S, delay_s))
