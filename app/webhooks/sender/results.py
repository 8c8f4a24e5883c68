"""Results of attempts: recorded for many threads in one transaction, with the next due time.

The result of a claim whose lease is lost is not recorded.
"""

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, bindparam, exists, insert, update
from sqlalchemy.orm import Session

from app.core.database.session import Database, WriteConnection
from app.core.errors import ServiceUnavailable
from app.core.outgoing_http.reply import retry_after_s
from app.core.process.log import OnceAMinute
from app.core.settings import Settings
from app.webhooks import service
from app.webhooks.enums import DeliveryState, Trigger
from app.webhooks.models import Attempt, Delivery, Subscription
from app.webhooks.sender.claims import Claim
from app.webhooks.sender.dispatch import AttemptResult

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_RETRY_AFTER_S = 0.5
# Only what this sender still holds: the token changes with each lease.
_HELD = (
    Delivery.id == bindparam("of_id"),
    Delivery.lease_token == bindparam("of_token"),
    Delivery.state == DeliveryState.DELIVERING,
)
_END_CLAIM = (
    update(Delivery)
    .where(*_HELD)
    .values(
        state=bindparam("new_state"),
        due_at=bindparam("new_due_at"),
        finished_at=bindparam("new_finished_at"),
        lease_token=None,
        lease_owner=None,
        lease_until=None,
    )
)
_CLEAR_FAILURES = (
    update(Subscription)
    .where(
        Subscription.id == bindparam("of_subscription"),
        Subscription.failing_since.is_not(None),
        exists().where(*_HELD),
    )
    .values(failing_since=None, failed_in_streak=0)
)
_ADD_ATTEMPT = insert(Attempt)
_MOST_JITTER_S = 2.0
_HONOURS_RETRY_AFTER = (429, 503)


@dataclass(slots=True)
class _Entry:
    """A result in the queue; its thread waits until it is written or leads the next batch."""

    result: AttemptResult
    woken: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    is_written: bool = False
    wakes: "_Entry | None" = None


class ResultWriter:
    """Records results; one thread writes the results of all threads that wait.

    A thread that is alone writes at once. While it writes, others queue their results; then the
    first of them writes for all. Each thread wakes one other: woken all at once, they would compete
    for the interpreter, and batches would be small.

    Args:
        on_recorded: called with the results whose claim was still held.
    """

    def __init__(
        self,
        db: Database,
        settings: Settings,
        on_recorded: Callable[[Sequence[AttemptResult]], None],
    ) -> None:
        self._settings = settings
        self._on_recorded = on_recorded
        self._connection = WriteConnection(db)
        self._queue: deque[_Entry] = deque()
        self._queue_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = threading.Event()

    def record(self, result: AttemptResult) -> bool:
        """Return once the result is committed, however long the database is away.

        Returns False when the writer was closed before: then nothing more may be sent.
        """
        entry = _Entry(result)
        with self._queue_lock:
            if self._closed.is_set():
                return False
            self._queue.append(entry)
            entry.leads = self._queue[0] is entry
        if not entry.leads:
            entry.woken.wait()
        try:
            if entry.leads:
                self._write_batch()
        finally:
            if entry.wakes is not None:
                entry.wakes.woken.set()
        return entry.is_written

    def close(self) -> None:
        """Refuse further results, and wait for a running write to end."""
        with self._queue_lock:
            self._closed.set()
        with self._write_lock:
            self._connection.close()

    def _write_batch(self) -> None:
        """Write the queued results; the first thread that queued meanwhile leads the next batch."""
        with self._queue_lock:
            batch = list(self._queue)
        is_written = False
        try:
            while not (self._closed.is_set() or is_written):
                is_written = self._write([entry.result for entry in batch])
                if not is_written:
                    self._closed.wait(_RETRY_AFTER_S)
        except Exception:
            self._closed.set()  # what cannot be recorded must not be sent either
            raise
        finally:
            self._end_batch(batch, is_written=is_written)

    def _end_batch(self, batch: Sequence[_Entry], *, is_written: bool) -> None:
        """Take the batch off the queue, and link the threads to wake to a chain."""
        with self._queue_lock:
            for entry in batch:
                self._queue.popleft()
                entry.is_written = is_written
            chain = list(batch)
            if self._closed.is_set():
                chain += self._queue
                self._queue.clear()
            elif self._queue:
                self._queue[0].leads = True
                chain.append(self._queue[0])
        for entry, following in pairwise(chain):
            entry.wakes = following

    def _write(self, batch: Sequence[AttemptResult]) -> bool:
        try:
            with self._write_lock, self._connection.writing() as connection:
                recorded = _record(connection, batch, self._settings)
        except ServiceUnavailable as error:
            logger.warning("results of webhooks wait for the database: %s", error.message)
            return False
        self._on_recorded(recorded)
        return True


def _record(
    connection: Connection, results: Sequence[AttemptResult], settings: Settings
) -> list[AttemptResult]:
    """Write attempts, the new states of deliveries, and the failure streaks of subscriptions.

    Most attempts succeed: for these there are three short statements, and no subscription is read.

    Args:
        results: in the order in which the attempts ended.

    Returns those whose claim was still held.
    """
    # The connection is in its caller's transaction, and the session does not end it.
    with Session(connection) as session:
        # Subscriptions first, as in every other transaction: so no two wait for each other.
        failing = _clear_or_load(connection, session, results)
        recorded = _write_attempts(connection, results, failing, settings)
        for result in recorded:
            subscription = failing.get(result.claim.receiver.id)
            if subscription is not None and result.counts_for_subscription:
                _update_streak(session, subscription, result, settings)
        session.flush()
    return recorded


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


def _clear_or_load(
    connection: Connection, session: Session, results: Sequence[AttemptResult]
) -> dict[str, Subscription]:
    """Clear the failures of receivers that only succeeded; lock and return the others."""
    by_receiver: dict[str, list[AttemptResult]] = {}
    for result in results:
        by_receiver.setdefault(result.claim.receiver.id, []).append(result)
    failing: dict[str, Subscription] = {}
    for receiver_id, group in sorted(by_receiver.items()):
        if not all(result.succeeded for result in group):
            # The weaker lock: publishing does not wait for it, deleting does.
            lock = {"key_share": True}
            failing[receiver_id] = session.get_one(Subscription, receiver_id, with_for_update=lock)
        elif keys := [_keys(result.claim) for result in group if result.counts_for_subscription]:
            connection.execute(_CLEAR_FAILURES, keys)
    return failing


def _write_attempts(
    connection: Connection,
    results: Sequence[AttemptResult],
    failing: Mapping[str, Subscription],
    settings: Settings,
) -> list[AttemptResult]:
    """Write deliveries and attempts; return the results whose claim was still held."""
    held: set[str] = set()
    for result in sorted(results, key=lambda ended: ended.claim.delivery_id):
        changes = _changes(result, settings, failing.get(result.claim.receiver.id))
        if connection.execute(_END_CLAIM, changes).rowcount:
            held.add(result.claim.delivery_id)
    recorded = [result for result in results if result.claim.delivery_id in held]
    if recorded:
        connection.execute(_ADD_ATTEMPT, [_attempt_row(result) for result in recorded])
    return recorded


def _keys(claim: Claim) -> dict[str, str]:
    return {
        "of_id": claim.delivery_id,
        "of_token": claim.lease_token,
        "of_subscription": claim.receiver.id,
    }


def _attempt_row(result: AttemptResult) -> dict[str, Any]:
    reply = result.reply
    return {
        "delivery_id": result.claim.delivery_id,
        "number": result.claim.attempt,
        "started_at": result.started_at,
        "duration_ms": reply.duration_ms,
        "url": result.claim.receiver.url,
        "ip": reply.ip,
        "status_code": reply.status_code,
        "outcome": reply.outcome.value,
        "error": reply.error,
        "response_excerpt": reply.excerpt,
        "truncated": reply.truncated,
    }


def _changes(
    result: AttemptResult, settings: Settings, subscription: Subscription | None
) -> dict[str, Any]:
    claim, ended_at = result.claim, result.ended_at
    state, due_at, finished_at = DeliveryState.PENDING, ended_at, None
    if result.is_last:
        state = DeliveryState.SUCCEEDED if result.succeeded else DeliveryState.FAILED
        finished_at = ended_at
    elif subscription is not None and subscription.has_ended_for(claim.trigger):
        state, finished_at = DeliveryState.CANCELED, ended_at
    else:
        due_at = next_attempt_at(
            attempt=claim.attempt,
            ended_at=ended_at,
            delays_s=settings.webhook_retry_delays,
            status_code=result.reply.status_code,
            headers=result.reply.headers,
        )
    return {
        "of_id": claim.delivery_id,
        "of_token": claim.lease_token,
        "new_state": state.value,
        "new_due_at": due_at,
        "new_finished_at": finished_at,
    }


def _update_streak(
    session: Session, subscription: Subscription, result: AttemptResult, settings: Settings
) -> None:
    """Clear the failure streak after a success; count a failed event, but not a failed test."""
    if result.succeeded:
        subscription.clear_failures()
        return
    if result.claim.trigger != Trigger.EVENT or subscription.deleted_at is not None:
        return
    subscription.add_failure(result.ended_at)
    limit = timedelta(seconds=settings.webhook_deactivate_after_s)
    # Checked when a delivery fails, by no timer: an idle subscription stays on.
    if subscription.active and subscription.has_failed_for(limit, now=result.ended_at):
        subscription.active = False
        subscription.deactivated_at = subscription.updated_at = result.ended_at
        subscription.version += 1
        service.cancel_pending(session, subscription.id, now=result.ended_at)
        logger.warning(
            "webhook subscription %s is switched off: every delivery has failed since %s",
            subscription.id,
            subscription.failing_since,
        )
