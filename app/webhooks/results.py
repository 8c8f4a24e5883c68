"""What became of attempts, written in batches; a holder that lost its lease changes nothing."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update
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

_UPDATE = (
    update(Delivery)
    .where(Delivery.id == bindparam("of_id"))
    .values(
        state=bindparam("new_state"),
        due_at=bindparam("new_due_at"),
        finished_at=bindparam("new_finished_at"),
        lease_token=None,
        lease_owner=None,
        lease_until=None,
    )
)


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


def record(session: Session, results: Sequence[Result], settings: Settings) -> list[Result]:
    """Write attempts, the deliveries' new states, and the standing of their subscriptions.

    Returns those that were still ours to write.
    """
    # The subscriptions first, as in every other transaction: so no two wait for each other.
    subscriptions = {
        each.id: each
        for each in session.scalars(
            select(Subscription)
            .where(Subscription.id.in_({each.claim.receiver.id for each in results}))
            .order_by(Subscription.id)
            # The weaker lock: whoever publishes does not wait for it, whoever deletes does.
            .with_for_update(key_share=True)
        )
    }
    ours = _still_held(session, results)
    if not ours:
        return ours
    connection = session.connection()
    connection.execute(insert(Attempt), [_attempt(each) for each in ours])
    connection.execute(
        _UPDATE, [_changes(each, settings, subscriptions[each.claim.receiver.id]) for each in ours]
    )
    for result in ours:
        if result.is_last and result.claim.trigger != Trigger.MANUAL:
            _note(session, subscriptions[result.claim.receiver.id], result, settings)
    session.flush()
    return ours


def _still_held(session: Session, results: Sequence[Result]) -> list[Result]:
    rows = session.execute(
        select(Delivery.id, Delivery.lease_token)
        .where(
            Delivery.id.in_([each.claim.delivery_id for each in results]),
            Delivery.state == DeliveryState.DELIVERING,
        )
        .order_by(Delivery.id)
        .with_for_update()
    )
    tokens = {row.id: row.lease_token for row in rows}
    return [each for each in results if tokens.get(each.claim.delivery_id) == each.claim.token]


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


def _changes(result: Result, settings: Settings, subscription: Subscription) -> dict[str, Any]:
    claim, ended_at = result.claim, result.ended_at
    state, due_at, finished_at = DeliveryState.PENDING, ended_at, None
    if result.is_last:
        state = DeliveryState.SUCCEEDED if result.succeeded else DeliveryState.FAILED
        finished_at = ended_at
    elif subscription.is_over(claim.trigger):
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
        "new_state": state.value,
        "new_due_at": due_at,
        "new_finished_at": finished_at,
    }


def _note(session: Session, subscription: Subscription, result: Result, settings: Settings) -> None:
    """Apply the seven-day rule: a success clears, a failed event counts, a failed test does not."""
    if result.succeeded:
        subscription.last_success_at = result.ended_at
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
