"""Receiver queues: which claimed deliveries may start now, so that no receiver delays another.

A receiver that keeps up gets one request at a time, in order: the next starts when the result of
the one before is recorded, so that a crash repeats one at most. When its oldest delivery has been
due for five seconds it is behind, and gets one more slot with each success, up to eight; a failure
halves them. Once it has caught up it is back to one.

Every receiver has one slot of its own. Further slots come from a shared pool, of which receivers
that fail or are slow hold at most half. So a healthy receiver never waits for a hanging one.

A queue holds as many claims as its receiver answers in a second, so that a slot that becomes free
need not wait for the database. A claim that has waited for five seconds does not start: its lease
has to outlast the attempt and the recording of its result.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from app.core.outgoing_http.reply import AttemptOutcome, Reply
from app.webhooks.sender.claims import Claim

MOST_IN_FLIGHT = 8
SHARED_SLOTS = 32
BEHIND_AFTER_S = 5.0
_CAUGHT_UP_BELOW_S = 1.0
_SHARED_SLOTS_FOR_SLOW = SHARED_SLOTS // 2
_SLOW_S = 1.0
_QUEUED_S = 1.0
_MOST_QUEUED = 128
_STALE_AFTER_S = 5.0


class ReceiverQueue:
    """Claims of one receiver, waiting or in flight, and how the receiver has answered."""

    def __init__(self) -> None:
        self.waiting: deque[Claim] = deque()
        self.in_flight: dict[str, tuple[Claim, float]] = {}
        self._is_behind = False
        self._slots = 1
        self._has_requested = False
        self._failing = False
        self._latency_s: float | None = None

    @property
    def slots(self) -> int:
        """The most requests that may be in flight at once."""
        return self._slots

    @property
    def shared(self) -> int:
        return max(0, len(self.in_flight) - 1)

    def update(self, *, overdue_s: float) -> None:
        """Note for how long the oldest unclaimed delivery has been due."""
        self._has_requested = False
        self._is_behind = overdue_s > (_CAUGHT_UP_BELOW_S if self._is_behind else BEHIND_AFTER_S)
        if not self._is_behind:
            self._slots = 1

    def note(self, reply: Reply) -> None:
        """Adapt to the result of an attempt."""
        duration_s = reply.duration_ms / 1000
        latency_s = duration_s if self._latency_s is None else self._latency_s
        self._failing = reply.outcome != AttemptOutcome.SUCCESS
        if self._failing:
            self._slots = max(1, self._slots // 2)
            self._latency_s = max(latency_s, duration_s)
        else:
            self._slots = min(MOST_IN_FLIGHT, self._slots + 1) if self._is_behind else 1
            self._latency_s = 0.7 * latency_s + 0.3 * duration_s

    def is_slow(self, now: float) -> bool:
        """Return whether it fails, takes over a second, or has so old a request in flight."""
        if self._failing or (self._latency_s or 0.0) > _SLOW_S:
            return True
        return any(now - started > _SLOW_S for _, started in self.in_flight.values())

    def most_waiting(self, now: float) -> int:
        if self._latency_s is None or self.is_slow(now):
            return 0
        return min(_MOST_QUEUED, int(self._slots * _QUEUED_S / max(self._latency_s, 0.001)))

    def runs_low(self, now: float) -> bool:
        """Return whether more claims are needed: at half of those that may wait here."""
        return len(self.waiting) <= self.most_waiting(now) // 2

    def needs_more(self, now: float) -> bool:
        """Return whether to fetch more claims; true once, until the next `update`."""
        if self._has_requested or not self.runs_low(now):
            return False
        self._has_requested = True
        return True


class ReceiverQueues:
    """The queues of all receivers; safe to use from the sender's threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._queues: dict[str, ReceiverQueue] = {}
        self._lock = threading.Lock()

    def room_for(self, receiver_id: str, *, overdue_s: float) -> int:
        """Return how many more claims of a receiver to queue or start now.

        Args:
            overdue_s: how long its oldest unclaimed delivery has been due.
        """
        now = self._clock()
        with self._lock:
            queue = self._queues.setdefault(receiver_id, ReceiverQueue())
            queue.update(overdue_s=overdue_s)
            if not queue.runs_low(now):
                return 0
            free = queue.slots - len(queue.in_flight)
            if queue.in_flight and self._free_shared(queue, now) <= 0:
                free = 0
            return max(0, free + queue.most_waiting(now) - len(queue.waiting))

    def add(self, claims: Iterable[Claim]) -> None:
        """Put fresh claims into the queues of their receivers."""
        with self._lock:
            for claim in claims:
                self._queues.setdefault(claim.receiver.id, ReceiverQueue()).waiting.append(claim)

    def start(self) -> list[Claim]:
        """Take every claim that may start now, receiver by receiver."""
        now = self._clock()
        started = []
        with self._lock:
            for queue in self._queues.values():
                while (claim := self._next(queue, now)) is not None:
                    started.append(claim)
        return started

    def finish(self, claim: Claim, reply: Reply | None) -> tuple[Claim | None, bool]:
        """Free the slot of an ended attempt and take the receiver's next claim into it.

        Args:
            reply: None where the attempt failed within the service and says nothing of the
                receiver.

        Returns the next claim, and whether more claims are to be fetched.
        """
        now = self._clock()
        with self._lock:
            queue = self._queues[claim.receiver.id]
            del queue.in_flight[claim.delivery_id]
            if reply is not None:
                queue.note(reply)
            return self._next(queue, now), queue.needs_more(now)

    def withdraw(self, versions: dict[str, int] | None) -> list[Claim]:
        """Take out claims that waited too long, or whose receiver has changed since.

        Args:
            versions: the present version of each receiver; None withdraws every waiting claim.
        """
        now = self._clock()
        withdrawn: list[Claim] = []
        with self._lock:
            for receiver_id, queue in self._queues.items():
                version = versions.get(receiver_id) if versions is not None else None
                waiting, queue.waiting = queue.waiting, deque()
                for claim in waiting:
                    fresh = claim.receiver.version == version and not _is_stale(claim, now)
                    (queue.waiting if fresh else withdrawn).append(claim)
        return withdrawn

    def forget_others(self, receiver_ids: Iterable[str]) -> None:
        """Drop the empty queues of receivers that no longer exist."""
        with self._lock:
            for receiver_id in self._queues.keys() - set(receiver_ids):
                queue = self._queues[receiver_id]
                if not queue.waiting and not queue.in_flight:
                    del self._queues[receiver_id]

    def delivery_ids(self) -> set[str]:
        with self._lock:
            queues = self._queues.values()
            waiting = {claim.delivery_id for queue in queues for claim in queue.waiting}
            return waiting.union(*(queue.in_flight for queue in queues))

    def in_flight(self) -> list[Claim]:
        with self._lock:
            queues = self._queues.values()
            return [claim for queue in queues for claim, _ in queue.in_flight.values()]

    def _next(self, queue: ReceiverQueue, now: float) -> Claim | None:
        if not queue.waiting or len(queue.in_flight) >= queue.slots:
            return None
        if queue.in_flight and self._free_shared(queue, now) <= 0:
            return None
        if _is_stale(queue.waiting[0], now):
            return None
        claim = queue.waiting.popleft()
        queue.in_flight[claim.delivery_id] = (claim, now)
        return claim

    def _free_shared(self, queue: ReceiverQueue, now: float) -> int:
        free = SHARED_SLOTS - sum(other.shared for other in self._queues.values())
        if not queue.is_slow(now):
            return free
        slow = sum(other.shared for other in self._queues.values() if other.is_slow(now))
        return min(free, _SHARED_SLOTS_FOR_SLOW - slow)


def _is_stale(claim: Claim, now: float) -> bool:
    return now - claim.claimed_at > _STALE_AFTER_S
