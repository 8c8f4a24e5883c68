"""The sender: claims what is due, sends it on threads, records what became of it, again and again.

It is a door of its own: claims are taken in one short write transaction, results recorded in
another, and no request is open in either.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Protocol

from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.outbound import Sender
from app.core.process import owner
from app.core.settings import Settings
from app.webhooks import claims, handover
from app.webhooks.carrier import Carrier
from app.webhooks.claims import Claim, Receiver
from app.webhooks.ledger import Ledger
from app.webhooks.metrics import SenderMetrics
from app.webhooks.receiver_queues import ReceiverQueues

logger = logging.getLogger(__name__)

_TICK_S = 1.0
_AWAKE_TICK_S = 0.02
_AWAKE_S = 1.0
_LEASE_BEYOND_TIMEOUT_S = 20.0
_STOP_WITHIN_S = 12.0
_PAUSE_S = 0.5
# Others want to write too, and what is claimed first need not wait for the rest.
_RECEIVERS_AT_ONCE = 8
# The queues bound what is in flight. Requests to deleted subscriptions come on top: those that hang
# must not use up the threads of the others. A thread is started only where none is idle.
_MOST_THREADS = 1000


class Listener(Protocol):
    """Hears the bell; it must be told before the engine sleeps, or the bell stays silent."""

    def before_sleep(self) -> None:
        """Let the next bell ring."""


class Engine:
    """One sender process: a loop in its main thread, and a thread for each attempt on its way."""

    def __init__(
        self,
        *,
        settings: Settings,
        db: Database,
        outbound: Sender,
        carrier: Carrier,
        listener: Listener,
        awake: threading.Event,
        metrics: SenderMetrics,
    ) -> None:
        self._settings = settings
        self._db = db
        self._outbound = outbound
        self._carrier = carrier
        self._listener = listener
        self._awake = awake
        self._metrics = metrics
        self._holder = owner.this_process()
        self._lease = timedelta(seconds=settings.webhook_timeout_s + _LEASE_BEYOND_TIMEOUT_S)
        self._queues = ReceiverQueues()
        self._pool = ThreadPoolExecutor(_MOST_THREADS, "webhook")
        self._ledger = Ledger(db, settings, metrics.note)
        self._recalled: list[Claim] = []
        self._busy_until = 0.0
        self._next_round = 0.0
        self._bell_is_set = False
        self._broken: BaseException | None = None
        metrics.watch(db, lambda: len(self._queues.in_flight()))

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Send until told to stop; then let what is on its way arrive, and hand back the rest."""
        try:
            while not should_stop():
                try:
                    next_due = self._turn()
                except ServiceUnavailable as error:
                    logger.warning("webhooks wait for the database: %s", error.message)
                    time.sleep(_PAUSE_S)
                else:
                    self._sleep_until(next_due)
            self._finish()
        finally:
            # What is cut off now has no result: it must not count as the receiver's failure.
            self._ledger.close()
            self._outbound.close()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _turn(self) -> datetime | None:
        """Claim and start; return when something more is due."""
        if self._broken is not None:
            raise self._broken
        now = utc_now()
        with self._db.reading() as session:
            known = claims.receivers(session)
        self._recalled += self._queues.withdraw({each.id: each.version for each in known})
        self._hand_back_recalled()
        if time.monotonic() >= self._next_round:
            self._make_round(known, now)
        wanted = [(each, number) for each in known if (number := self._wanted(each, now)) > 0]
        while wanted:
            self._queues.add(self._take(wanted[:_RECEIVERS_AT_ONCE], now))
            del wanted[:_RECEIVERS_AT_ONCE]
            self._start()
            self._busy_until = time.monotonic() + _AWAKE_S
        self._start()
        later = [each.due_at for each in known if each.due_at is not None and each.due_at > now]
        return min(later, default=None)

    def _start(self) -> None:
        for claim in self._queues.start():
            self._pool.submit(self._travel, claim).add_done_callback(self._note_the_end)

    def _wanted(self, receiver: Receiver, now: datetime) -> int:
        if receiver.due_at is None or receiver.due_at > now:
            return 0
        overdue_s = (now - receiver.due_at).total_seconds()
        number = self._queues.wanted(receiver.id, overdue_s=overdue_s)
        return number if number > 0 and self._carrier.can_sign(receiver) else 0

    def _take(self, wanted: Sequence[tuple[Receiver, int]], now: datetime) -> list[Claim]:
        with self._db.writing() as session:
            return [
                taken
                for receiver, number in wanted
                for taken in claims.claim(
                    session,
                    receiver,
                    limit=number,
                    now=now,
                    holder=self._holder,
                    lease=self._lease,
                )
            ]

    def _hand_back_recalled(self) -> None:
        if self._recalled:
            with self._db.writing() as session:
                handover.hand_back(session, self._recalled)
            self._recalled.clear()
            self._busy_until = time.monotonic() + _AWAKE_S

    def _make_round(self, known: Sequence[Receiver], now: datetime) -> None:
        """Take over from senders that ended, and let go of what nobody uses."""
        held = self._queues.held()
        with self._db.reading() as session:
            lost = handover.lost(session, holder=self._holder, held=held, now=now)
        if lost:
            logger.warning("taking over %s deliveries of a sender that ended", len(lost))
            with self._db.writing() as session:
                handover.take_over(session, lost, now=now)
            self._metrics.note_reclaimed(len(lost))
        self._outbound.close_idle()
        self._queues.forget_others(each.id for each in known)
        self._next_round = time.monotonic() + _TICK_S

    def _travel(self, claim: Claim) -> None:
        """Make attempt after attempt in one slot, as long as the receiver's queue has claims.

        An attempt that failed within the service has no result. It is due again, uncounted, when
        its lease ends.
        """
        following: Claim | None = claim
        while following is not None:
            result = self._carrier.carry(following)
            if result is not None and not self._ledger.record(result):
                return
            reply = result.reply if result is not None else None
            following, more = self._queues.finish(following, reply)
            if more:
                self._awake.set()

    def _note_the_end(self, journey: Future[None]) -> None:
        """See to it that this process does not live on without the seat of a thread that failed."""
        if not journey.cancelled() and (error := journey.exception()) is not None:
            self._broken = error
            self._awake.set()

    def _sleep_until(self, next_due: datetime | None) -> None:
        """Wait for a lane that runs low, a bell, a due moment, or the tick.

        For a second after the last work a short tick is cheaper than a bell for each event. Once
        that has passed the bell is set, and one more look is taken before the long sleep.
        """
        idle = time.monotonic() > self._busy_until
        if idle and not self._bell_is_set:
            self._listener.before_sleep()
            self._bell_is_set = True
            return
        wait_s = _TICK_S if idle else _AWAKE_TICK_S
        if next_due is not None:
            wait_s = min(wait_s, max(0.0, (next_due - utc_now()).total_seconds()))
        if woken := self._awake.wait(wait_s):
            self._busy_until = time.monotonic() + _AWAKE_S
        if woken or not idle:
            self._bell_is_set = False
        self._awake.clear()

    def _finish(self) -> None:
        """Let what is on its way arrive for at most 12 seconds; hand back what did not."""
        self._recalled += self._queues.withdraw(None)
        until = time.monotonic() + _STOP_WITHIN_S
        while time.monotonic() < until:
            try:
                self._hand_back_recalled()
            except ServiceUnavailable as error:
                logger.warning("webhooks wait for the database: %s", error.message)
                time.sleep(_PAUSE_S)
            if not (self._recalled or self._queues.in_flight()):
                break
            self._awake.wait(0.1)
            self._awake.clear()
        self._hand_back_the_rest()

    def _hand_back_the_rest(self) -> None:
        self._recalled += self._queues.in_flight()
        try:
            self._hand_back_recalled()
        except ServiceUnavailable:
            logger.warning("%s deliveries are left to the next sender", len(self._recalled))
