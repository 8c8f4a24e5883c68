"""Values of the request state: limits, visits and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class Limit:
    """One policy for one caller: `limit` requests in `window_s` seconds (GCRA).

    `cost` is the number of requests that this one counts as.
    """

    policy: str
    caller: str
    limit: int
    window_s: int
    cost: int = 1

    @property
    def spent_s(self) -> float:
        """The part of the window that this request spends; the whole window at most."""
        return self.window_s * min(self.cost, self.limit) / self.limit

    @property
    def stored_name(self) -> str:
        """Its name in a store: always of one length, and without what a caller has sent."""
        return _stored_name(self.policy, self.caller)


@lru_cache(maxsize=4096)
def _stored_name(policy: str, caller: str) -> str:
    return f"{policy}:{blake2b(caller.encode(), digest_size=16).hexdigest()}"


@dataclass(frozen=True, slots=True)
class LimitStatus:
    """State of one limit after a visit; `wait_s` is 0 unless this limit denied it.

    `refill_s` is the time until one more request is free, `full_s` until all are.
    """

    limit: Limit
    remaining: int
    refill_s: float
    full_s: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class CallCount:
    """One metered call: its key, its UTC date and its operation."""

    key_id: str
    date: str
    operation: str


@dataclass(frozen=True, slots=True)
class Visit:
    """The limits, nonce and count of one request."""

    now: datetime
    limits: Sequence[Limit] = ()
    nonce: str = ""
    nonce_life_s: int = 0
    count: CallCount | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """Result of a visit; only an admitted call is counted and spends its limits."""

    nonce_fresh: bool
    limits: Sequence[LimitStatus]
    key_version: str

    @property
    def admitted(self) -> bool:
        """Return whether the nonce was fresh and no limit denied."""
        return self.nonce_fresh and all(status.wait_s == 0 for status in self.limits)


@dataclass(frozen=True, slots=True)
class CountBatch:
    """Calls set aside under an id until the database has them; applied once by that id."""

    id: str
    calls: Mapping[CallCount, int]
    last_used: Mapping[str, datetime]


def status_of(limit: Limit, now_s: float, arrival_s: float, *, denied: bool) -> LimitStatus:
    """Read a GCRA state: `arrival_s` is the theoretical arrival time, in epoch seconds."""
    interval = limit.window_s / limit.limit
    backlog = max(0.0, arrival_s - now_s)
    room = limit.window_s - backlog
    return LimitStatus(
        limit=limit,
        remaining=max(0, int(room / interval + 1e-9)),
        refill_s=backlog % interval if backlog % interval > 1e-9 else min(backlog, interval),
        full_s=backlog,
        wait_s=max(0.001, limit.spent_s - room) if denied else 0.0,
    )
