"""Results of attempts, recorded in batches with the next due time; without its lease none is recorded."""

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, exists, insert, update
from sqlalchemy.orm import Session

from app.core.outgoing_http.reply import AttemptOutcome, Reply
from app.core.outgoing_http.retry_after import retry_after_s
from app.core.settings import Settings
from app.webhooks import service
from app.webhooks.enums import DeliveryState, Trigger
from app.webhooks.models import Attempt, Delivery, Subscription
from app.webhooks.sender.claims import Claim

logger = logging.getLogger(__name__)

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


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """An attempt that ended."""

    claim: Claim
    reply: Reply
    started_at: datetime
    ended_at: datetime

    @property
    def succeeded(self) -> bool:
        """Whether the receiver answered 2xx in time."""
        return self.reply.outcome == AttemptOutcome.SUCCESS

    @property
    def is_last(self) -> bool:
        """Whether no attempt follows."""
        return self.succeeded or self.claim.attempt >= self.claim.max_attempts

    @property
    def counts_for_subscription(self) -> bool:
        """Whether it starts or clears a failure streak: the last attempt, but no redelivery."""
        return self.is_last and self.claim.trigger != Trigger.MANUAL


def record(
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
            delays_s=settings.webhook_retry_delays_s,
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
