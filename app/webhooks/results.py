"""What became of attempts, written in batches; a holder that lost its lease settles nothing."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, exists, insert, update
from sqlalchemy.orm import Session

from app.core.exchange import Outcome
from app.core.outbound import Reply
from app.core.settings import Settings
from app.webhooks import cancellation
from app.webhooks.claims import Claim
from app.webhooks.models import Attempt, Delivery, DeliveryState, Subscription, Trigger
from app.webhooks.schedule import next_attempt_at
from app.webhooks.standing import CLEAN, Standing

logger = logging.getLogger(__name__)

# Only what this holder still holds: a token changes with each lease.
_HELD = (
    Delivery.id == bindparam("of_id"),
    Delivery.lease_token == bindparam("of_token"),
    Delivery.state == DeliveryState.DELIVERING,
)
_SETTLE = (
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
_CLEAR = (
    update(Subscription)
    .where(
        Subscription.id == bindparam("of_subscription"),
        Subscription.failing_since.is_not(None),
        exists().where(*_HELD),
    )
    .values(failing_since=CLEAN.failing_since, failed_in_streak=CLEAN.failed)
)
_ADD_ATTEMPT = insert(Attempt)


@dataclass(frozen=True, slots=True)
class Result:
    """An attempt that ended."""

    claim: Claim
    reply: Reply
    started_at: datetime
    ended_at: datetime

    @property
    def succeeded(self) -> bool:
        """Whether the receiver answered 2xx in time."""
        return self.reply.outcome == Outcome.SUCCESS

    @property
    def is_last(self) -> bool:
        """Whether no attempt follows."""
        return self.succeeded or self.claim.attempt >= self.claim.max_attempts


def record(connection: Connection, results: Sequence[Result], settings: Settings) -> list[Result]:
    """Write attempts, the deliveries' new states, and the standing of their subscriptions.

    Most attempts succeed: for these there are three short statements, and no subscription is read.

    Args:
        results: in the order in which they ended.

    Returns those that were still ours to write.
    """
    # The connection is in its caller's transaction, which the session leaves to it.
    with Session(connection) as session:
        # The subscriptions first, as in every other transaction: so no two wait for each other.
        troubled = _clear_or_load(connection, session, results)
        recorded = _settle(connection, results, troubled, settings)
        for result in recorded:
            subscription = troubled.get(result.claim.receiver.id)
            if subscription is not None and _counts(result):
                _note(session, subscription, result, settings)
        session.flush()
    return recorded


def _clear_or_load(
    connection: Connection, session: Session, results: Sequence[Result]
) -> dict[str, Subscription]:
    """Clear the standing of receivers that only succeeded; lock and return the others."""
    by_receiver: dict[str, list[Result]] = {}
    for each in results:
        by_receiver.setdefault(each.claim.receiver.id, []).append(each)
    troubled: dict[str, Subscription] = {}
    for receiver_id, group in sorted(by_receiver.items()):
        if not all(each.succeeded for each in group):
            # The weaker lock: whoever publishes does not wait for it, whoever deletes does.
            lock = {"key_share": True}
            troubled[receiver_id] = session.get_one(Subscription, receiver_id, with_for_update=lock)
        elif counted := [_identity(each.claim) for each in group if _counts(each)]:
            connection.execute(_CLEAR, counted)
    return troubled


def _settle(
    connection: Connection,
    results: Sequence[Result],
    troubled: Mapping[str, Subscription],
    settings: Settings,
) -> list[Result]:
    """Write deliveries and attempts; return those whose lease was still held."""
    held: set[str] = set()
    for each in sorted(results, key=lambda result: result.claim.delivery_id):
        changes = _changes(each, settings, troubled.get(each.claim.receiver.id))
        if connection.execute(_SETTLE, changes).rowcount:
            held.add(each.claim.delivery_id)
    recorded = [each for each in results if each.claim.delivery_id in held]
    if recorded:
        connection.execute(_ADD_ATTEMPT, [_attempt(each) for each in recorded])
    return recorded


def _identity(claim: Claim) -> dict[str, str]:
    return {
        "of_id": claim.delivery_id,
        "of_token": claim.token,
        "of_subscription": claim.receiver.id,
    }


def _counts(result: Result) -> bool:
    """Whether an attempt says how its subscription does: the last of what was not asked for."""
    return result.is_last and result.claim.trigger != Trigger.MANUAL


def _attempt(result: Result) -> dict[str, Any]:
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
    result: Result, settings: Settings, subscription: Subscription | None
) -> dict[str, Any]:
    claim, ended_at = result.claim, result.ended_at
    state, due_at, finished_at = DeliveryState.PENDING, ended_at, None
    if result.is_last:
        state = DeliveryState.SUCCEEDED if result.succeeded else DeliveryState.FAILED
        finished_at = ended_at
    elif subscription is not None and subscription.is_over(claim.trigger):
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
        "of_token": claim.token,
        "new_state": state.value,
        "new_due_at": due_at,
        "new_finished_at": finished_at,
    }


def _note(session: Session, subscription: Subscription, result: Result, settings: Settings) -> None:
    """Apply the seven-day rule: a success clears, a failed event counts, a failed test does not."""
    if result.succeeded:
        _set_standing(subscription, CLEAN)
        return
    if result.claim.trigger != Trigger.EVENT or subscription.deleted_at is not None:
        return
    standing = Standing(subscription.failing_since, subscription.failed_in_streak)
    standing = standing.after_failure(result.ended_at)
    _set_standing(subscription, standing)
    limit_s = settings.webhook_deactivate_after_s
    if subscription.active and standing.is_hopeless(result.ended_at, limit_s=limit_s):
        subscription.active = False
        subscription.deactivated_at = subscription.updated_at = result.ended_at
        subscription.version += 1
        cancellation.cancel_pending(session, subscription.id, now=result.ended_at)
        logger.warning(
            "webhook subscription %s is switched off: every delivery failed since %s",
            subscription.id,
            standing.failing_since,
        )


def _set_standing(subscription: Subscription, standing: Standing) -> None:
    subscription.failing_since = standing.failing_since
    subscription.failed_in_streak = standing.failed
