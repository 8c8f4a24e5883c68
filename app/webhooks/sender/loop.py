"""Sender of webhooks: claims due deliveries, sends them on threads, and reclaims what crashes left behind.

It opens its transactions itself: claims are taken in one short write transaction and results
recorded in another, and no request is in flight in either.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta

from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.hosts import SENDER, Heartbeat, follow_clock
from app.core.metrics import ATTEMPT_SECONDS, ATTEMPTS, ATTEMPTS_IN_FLIGHT, RECLAIMED_DELIVERIES
from app.core.outgoing_http.client import RequestsClient
from app.core.outgoing_http.reply import HttpClient
from app.core.process import owner
from app.core.process.log import OnceAMinute
from app.core.queue import BellListener, redis_url
from app.core.runtime import Runtime
from app.webhooks.sender import claims
from app.webhooks.sender.claims import Claim, Receiver
from app.webhooks.sender.dispatch import AttemptResult, Dispatcher
from app.webhooks.sender.mail import MailClient
from app.webhooks.sender.receiver_queues import ReceiverQueues
from app.webhooks.sender.results import ResultWriter
from app.webhooks.service import SENDER_BELL, address_policy

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_IDLE_TICK_S = 1.0
_BUSY_TICK_S = 0.02
_BUSY_FOR_S = 1.0
_MAINTENANCE_EVERY_S = 1.0
_LEASE_BEYOND_TIMEOUT_S = 20.0
_STOP_WITHIN_S = 12.0
_RETRY_AFTER_S = 0.5
# Other processes want to write too, and the first claims need not wait for the rest.
_RECEIVERS_PER_TRANSACTION = 8
# The queues bound what is in flight. Requests to deleted subscriptions come on top: those that hang
# must not use up the threads of the others. A thread is started only where none is idle.
_MOST_THREADS = 1000


def run_sender(runtime: Runtime, should_stop: Callable[[], bool]) -> None:
    """Send webhooks until `should_stop`; then finish what is in flight, within 12 seconds.

    Call it in a process of its own, after the fork.
    """
    settings = runtime.settings
    # A lost result only causes a repetition: the sender need not wait for the disk at each commit.
    db = Database(settings, runtime.doorbell.ring, runtime.hooks, waits_for_disk=False)
    follow_clock(db.engine)
    runtime.traces.start("sender")
    client = RequestsClient(address_policy(settings), ca_bundle=settings.webhook_ca_bundle)
    wake = threading.Event()
    listener = BellListener(SENDER_BELL.queue, redis_url(settings), wake.set)
    listener.start()
    try:
        runtime.counts.keep_writing()
        SenderLoop(runtime, db, client, listener, wake).run(should_stop)
    finally:
        runtime.counts.write()
        listener.stop()
        client.close()
        runtime.traces.flush()
        db.engine.dispose()


def drain(runtime: Runtime, *, within_s: float) -> bool:
    """Send what is due until nothing is; False when the time runs out.

    A delivery that fails is due again later, and left to a sender.
    """
    until = time.monotonic() + within_s
    is_done = False

    def should_stop() -> bool:
        nonlocal is_done
        with suppress(ServiceUnavailable):  # results may still have to be recorded
            with runtime.db.reading() as session:
                has_work = claims.has_work(session, owner=owner.this_process(), now=utc_now())
            is_done = is_done or not has_work
        return is_done or time.monotonic() > until

    run_sender(runtime, should_stop)
    return is_done


class SenderLoop:
    """A loop in the main thread of a sender process, and a thread for each request in flight."""

    def __init__(
        self,
        runtime: Runtime,
        db: Database,
        client: HttpClient,
        listener: BellListener,
        wake: threading.Event,
    ) -> None:
        settings = runtime.settings
        self._db = db
        self._client = client
        self._dispatcher = Dispatcher(
            client,
            MailClient(address_policy(settings), ca_bundle=settings.webhook_ca_bundle),
            runtime.keyring,
            runtime.traces,
            timeout_s=settings.webhook_timeout_s,
        )
        self._listener = listener
        self._wake = wake
        self._counts = runtime.counts
        self._owner = owner.this_process()
        self._heartbeat = Heartbeat(db, SENDER)
        self._lease = timedelta(seconds=settings.webhook_timeout_s + _LEASE_BEYOND_TIMEOUT_S)
        self._queues = ReceiverQueues()
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "webhook")
        self._results = ResultWriter(db, settings, self._count_attempts)
        self._to_release: list[Claim] = []
        self._busy_until = 0.0
        self._next_maintenance = 0.0
        self._is_armed = False
        self._error: BaseException | None = None

    def run(self, should_stop: Callable[[], bool]) -> None:
        """Send until `should_stop`; then let requests in flight end, and release the other claims."""
        try:
            while not should_stop():
                try:
                    next_due = self._tick()
                except ServiceUnavailable as error:
                    _log_unavailable(error)
                    time.sleep(_RETRY_AFTER_S)
                else:
                    self._sleep_until(next_due)
            self._finish()
        finally:
            # Requests that are cut off now have no result: they are not the receiver's failures.
            self._heartbeat.stop()
            self._results.close()
            self._client.close()
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _tick(self) -> datetime | None:
        """Claim and start what is due; return when the next delivery is due."""
        if self._error is not None:
            raise self._error
        now = utc_now()
        with self._db.reading() as session:
            receivers = claims.list_receivers(session)
            served_by_others = claims.served_by_others(session, owner=self._owner)
        versions = {receiver.id: receiver.version for receiver in receivers}
        self._to_release += self._queues.withdraw(versions)
        self._release_withdrawn()
        if time.monotonic() >= self._next_maintenance:
            self._maintain(receivers, now)
        free = [receiver for receiver in receivers if receiver.id not in served_by_others]
        limits = [(receiver, limit) for receiver in free if (limit := self._limit(receiver, now))]
        for first in range(0, len(limits), _RECEIVERS_PER_TRANSACTION):
            batch = limits[first : first + _RECEIVERS_PER_TRANSACTION]
            self._queues.add(self._claim(batch, now))
            self._start()
            self._busy_until = time.monotonic() + _BUSY_FOR_S
        self._start()
        due_times = [receiver.due_at for receiver in receivers if receiver.due_at is not None]
        return min((due_at for due_at in due_times if due_at > now), default=None)

    def _start(self) -> None:
        for claim in self._queues.start():
            self._threads.submit(self._deliver, claim).add_done_callback(self._note_error)

    def _limit(self, receiver: Receiver, now: datetime) -> int:
        """Return how many deliveries of a receiver to claim at most."""
        if receiver.due_at is None or receiver.due_at > now:
            return 0
        overdue_s = (now - receiver.due_at).total_seconds()
        limit = self._queues.room_for(receiver.id, overdue_s=overdue_s)
        return limit if limit > 0 and self._dispatcher.can_send(receiver) else 0

    def _claim(self, limits: Sequence[tuple[Receiver, int]], now: datetime) -> list[Claim]:
        with self._db.writing() as session:
            return [
                claim
                for receiver, limit in limits
                for claim in claims.claim_due(
                    session, receiver, limit=limit, now=now, owner=self._owner, lease=self._lease
                )
            ]

    def _release_withdrawn(self) -> None:
        if self._to_release:
            with self._db.writing() as session:
                claims.release(session, self._to_release)
            self._to_release.clear()
            self._busy_until = time.monotonic() + _BUSY_FOR_S

    def _maintain(self, receivers: Sequence[Receiver], now: datetime) -> None:
        """Reclaim deliveries of dead senders, drop what is idle, and beat."""
        queued = self._queues.delivery_ids()
        with self._db.reading() as session:
            orphaned = claims.list_orphaned(session, owner=self._owner, queued=queued, now=now)
        if orphaned:
            logger.warning("reclaiming %s deliveries of a dead sender", len(orphaned))
            with self._db.writing() as session:
                claims.reclaim(session, orphaned, now=now)
            self._counts.count(RECLAIMED_DELIVERIES, by=len(orphaned))
        self._client.close_idle()
        self._heartbeat.beat()
        self._queues.forget_others(receiver.id for receiver in receivers)
        self._next_maintenance = time.monotonic() + _MAINTENANCE_EVERY_S

    def _deliver(self, claim: Claim) -> None:
        """Make attempt after attempt in one slot, as long as the receiver's queue has claims.

        An attempt that failed within the service has no result. It is due again, uncounted, when
        its lease ends.
        """
        current: Claim | None = claim
        while current is not None:
            self._counts.change(ATTEMPTS_IN_FLIGHT, 1)
            try:
                result = self._dispatcher.send(current)
            finally:
                self._counts.change(ATTEMPTS_IN_FLIGHT, -1)
            if result is not None and not self._results.record(result):
                return
            reply = result.reply if result is not None else None
            current, needs_more = self._queues.finish(current, reply)
            if needs_more:
                self._wake.set()

    def _count_attempts(self, recorded: Sequence[AttemptResult]) -> None:
        for result in recorded:
            self._counts.count(ATTEMPTS, result.reply.outcome.value)
            self._counts.observe(ATTEMPT_SECONDS, seconds=result.reply.duration_ms / 1000)

    def _note_error(self, delivering: Future[None]) -> None:
        """Let the loop raise the error of a thread: its slot would be lost without a sign."""
        if not delivering.cancelled() and (error := delivering.exception()) is not None:
            self._error = error
            self._wake.set()

    def _sleep_until(self, next_due: datetime | None) -> None:
        """Wait for a queue that runs low, a bell, a due time, or the tick.

        For a second after the last work a short tick is cheaper than a bell for each event. After
        that the listener is armed, and one more tick follows before the long sleep: an event may
        have been written before the listener was armed.
        """
        is_idle = time.monotonic() > self._busy_until
        if is_idle and not self._is_armed:
            self._listener.before_sleep()
            self._is_armed = True
            return
        wait_s = _IDLE_TICK_S if is_idle else _BUSY_TICK_S
        if next_due is not None:
            wait_s = min(wait_s, max(0.0, (next_due - utc_now()).total_seconds()))
        if woken := self._wake.wait(wait_s):
            self._busy_until = time.monotonic() + _BUSY_FOR_S
        if woken or not is_idle:
            self._is_armed = False
        self._wake.clear()

    def _finish(self) -> None:
        """Wait up to 12 seconds for requests in flight; release every other claim."""
        self._to_release += self._queues.withdraw(None)
        until = time.monotonic() + _STOP_WITHIN_S
        while time.monotonic() < until:
            try:
                self._release_withdrawn()
            except ServiceUnavailable as error:
                _log_unavailable(error)
                time.sleep(_RETRY_AFTER_S)
            if not (self._to_release or self._queues.in_flight()):
                break
            self._wake.wait(0.1)
            self._wake.clear()
        self._to_release += self._queues.in_flight()
        try:
            self._release_withdrawn()
        except ServiceUnavailable:
            logger.warning("%s claims are left to the next sender", len(self._to_release))


def _log_unavailable(error: ServiceUnavailable) -> None:
    logger.warning("webhooks wait for the database: %s", error.message)
