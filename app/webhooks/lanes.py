"""Who may send now: a lane for each receiver, so that no hanging one takes another's turn.

Every receiver has one seat of its own, always: one request is on its way, and the next leaves when
the end of that one is recorded, so that a crash repeats one at most. Where what is due has waited
for five minutes, one seat is not enough, and up to three more come from a shared pool, of which those
receivers that fail or are slow hold at most half. One that never answered, or failed to answer
three times in a row, has its own seat only. So a healthy receiver never waits for a hanging one.

A lane of a quick receiver holds claims ahead, as many as it answers in a second, so that its seat
need not wait for the database. What has waited for five seconds leaves no more: its lease has to
outlast the attempt and the record of its end, or another sender would send it as well.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable

from app.core.exchange import Outcome
from app.core.outbound import Reply
from app.webhooks.claims import Claim

SEATS_PER_RECEIVER = 4
SHARED_SEATS = 32
_SHARED_SEATS_FOR_SLOW = SHARED_SEATS // 2
SLOW_S = 1.0
_QUICK_S = 0.1
_AHEAD_S = 1.0
_MOST_AHEAD = 128
_STALE_AHEAD_S = 5.0
_FAILURES_TO_CLOSE = 3
BEHIND_S = 300.0
_ANSWERED = (Outcome.SUCCESS, Outcome.HTTP_ERROR)


class Lane:
    """What is known of one receiver: what waits, what is on its way, how it has answered."""

    def __init__(self) -> None:
        self.waiting: deque[Claim] = deque()
        self.on_the_way: dict[str, tuple[Claim, float]] = {}
        self.is_behind = False
        self._has_asked = False
        self._failures = 0
        self._answered = False
        self._failing = False
        self._latency_s = _QUICK_S

    def note(self, reply: Reply) -> None:
        """Learn from the end of an attempt."""
        duration_s = reply.duration_ms / 1000
        self._failing = reply.outcome != Outcome.SUCCESS
        if reply.outcome in _ANSWERED:
            self._answered = True
            self._failures = 0
            self._latency_s = 0.7 * self._latency_s + 0.3 * duration_s
        else:
            self._failures += 1
            self._latency_s = max(self._latency_s, duration_s)

    def seats(self) -> int:
        """Return how many attempts may be on their way at once."""
        return SEATS_PER_RECEIVER if self.is_behind and not self._is_closed() else 1

    def shared(self) -> int:
        """Return how many seats of the shared pool are held."""
        return max(0, len(self.on_the_way) - 1)

    def is_slow(self, now: float) -> bool:
        """Whether it fails, takes over a second, or has something on its way for that long."""
        if self._failing or self._latency_s > SLOW_S:
            return True
        return any(now - started > SLOW_S for _, started in self.on_the_way.values())

    def ahead(self, now: float) -> int:
        """Return how many claims may wait here."""
        if self._is_closed() or self._latency_s >= _QUICK_S or self.is_slow(now):
            return 0
        return min(_MOST_AHEAD, int(self.seats() * _AHEAD_S / max(self._latency_s, 0.001)))

    def runs_low(self, now: float) -> bool:
        """Whether it is time for more claims: from half of those that may wait here downwards."""
        return len(self.waiting) <= self.ahead(now) // 2

    def asks(self, now: float) -> bool:
        """Whether more claims are to be fetched; asked once, until somebody has looked."""
        if self._has_asked or not self.runs_low(now):
            return False
        self._has_asked = True
        return True

    def look(self, *, is_behind: bool) -> None:
        """Take note that what is due was looked at."""
        self.is_behind = is_behind
        self._has_asked = False

    def _is_closed(self) -> bool:
        return not self._answered or self._failures >= _FAILURES_TO_CLOSE


class Lanes:
    """The lanes of all receivers; safe to use from the sender's threads."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._lock = threading.Lock()

    def wanted(self, receiver_id: str, *, overdue_s: float) -> int:
        """Return how many more claims of a receiver could be used now.

        Args:
            overdue_s: how long the oldest delivery that nobody claimed has been due.
        """
        now = time.monotonic()
        with self._lock:
            lane = self._lanes.setdefault(receiver_id, Lane())
            lane.look(is_behind=overdue_s > BEHIND_S)
            if not lane.runs_low(now):
                return 0
            free = lane.seats() - len(lane.on_the_way)
            if lane.on_the_way and self._shared_left(lane, now) <= 0:
                free = 0
            return max(0, free + lane.ahead(now) - len(lane.waiting))

    def add(self, claims: Iterable[Claim]) -> None:
        """Put fresh claims into their lanes."""
        with self._lock:
            for claim in claims:
                self._lanes.setdefault(claim.receiver.id, Lane()).waiting.append(claim)

    def depart(self) -> list[Claim]:
        """Take what may start now, one receiver after the other, into its seats."""
        now = time.monotonic()
        started = []
        with self._lock:
            for lane in self._lanes.values():
                while (claim := self._next(lane, now)) is not None:
                    started.append(claim)
        return started

    def arrive(self, claim: Claim, reply: Reply) -> tuple[Claim | None, bool]:
        """Free the seat of an ended attempt, and take the next of its lane into it.

        Returns the next claim, and whether more of them are to be fetched.
        """
        now = time.monotonic()
        with self._lock:
            lane = self._lanes[claim.receiver.id]
            del lane.on_the_way[claim.delivery_id]
            lane.note(reply)
            return self._next(lane, now), lane.asks(now)

    def recall(self, versions: dict[str, int] | None) -> list[Claim]:
        """Take back claims that wait too long, or whose receiver has changed since.

        Args:
            versions: the present version of each receiver; None takes all back.
        """
        now = time.monotonic()
        taken: list[Claim] = []
        with self._lock:
            for receiver_id, lane in self._lanes.items():
                version = versions.get(receiver_id) if versions is not None else None
                waiting, lane.waiting = lane.waiting, deque()
                for claim in waiting:
                    fresh = claim.receiver.version == version and not _is_stale(claim, now)
                    (lane.waiting if fresh else taken).append(claim)
        return taken

    def forget_others(self, receiver_ids: Iterable[str]) -> None:
        """Drop the idle lanes of receivers that are gone."""
        known = set(receiver_ids)
        with self._lock:
            for receiver_id in [each for each in self._lanes if each not in known]:
                lane = self._lanes[receiver_id]
                if not lane.waiting and not lane.on_the_way:
                    del self._lanes[receiver_id]

    def held(self) -> set[str]:
        """Return the ids of all deliveries in the lanes, waiting or on their way."""
        with self._lock:
            lanes = self._lanes.values()
            waiting = {claim.delivery_id for lane in lanes for claim in lane.waiting}
            return waiting.union(*(lane.on_the_way for lane in lanes))

    def on_the_way(self) -> list[Claim]:
        """List what is being sent."""
        with self._lock:
            lanes = self._lanes.values()
            return [claim for lane in lanes for claim, _ in lane.on_the_way.values()]

    def _next(self, lane: Lane, now: float) -> Claim | None:
        if not lane.waiting or len(lane.on_the_way) >= lane.seats():
            return None
        if lane.on_the_way and self._shared_left(lane, now) <= 0:
            return None
        if _is_stale(lane.waiting[0], now):
            return None
        claim = lane.waiting.popleft()
        lane.on_the_way[claim.delivery_id] = (claim, now)
        return claim

    def _shared_left(self, lane: Lane, now: float) -> int:
        held = sum(each.shared() for each in self._lanes.values())
        left = SHARED_SEATS - held
        if not lane.is_slow(now):
            return left
        slow = sum(each.shared() for each in self._lanes.values() if each.is_slow(now))
        return min(left, _SHARED_SEATS_FOR_SLOW - slow)


def _is_stale(claim: Claim, now: float) -> bool:
    return now - claim.taken_at > _STALE_AHEAD_S
