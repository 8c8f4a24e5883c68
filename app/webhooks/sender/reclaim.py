"""Unfinished claims: released by the sender that holds them, or reclaimed after a crash."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, literal_column, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.process import owner as processes
from app.usage.service import count_delivery
from app.webhooks.enums import DeliveryState, Trigger
from app.webhooks.models import Delivery, Subscription
from app.webhooks.sender.claims import Claim

# A literal, not a parameter: SQLite uses a partial index only for a literal.
_DELIVERING = Delivery.state == literal_column("'delivering'")

# A process that lives keeps its claims, whatever the clock says; one that is stuck, not for ever.
_STUCK_AFTER = timedelta(minutes=10)
_INTERRUPTIONS_WITHOUT_PAUSE = 5
_LONGEST_PAUSE_S = 60


@dataclass(frozen=True, slots=True)
class OrphanedClaim:
    """A delivery whose sender was killed, or has lost its lease."""

    delivery_id: str
    subscription_id: str
    lease_token: str
    interruptions: int


def release(session: Session, claims: Sequence[Claim]) -> None:
    """Undo claims that were not sent, or whose attempt did not end."""
    _lock_subscriptions(session, {claim.receiver.id for claim in claims})
    held = Delivery.lease_token.in_({claim.lease_token for claim in claims})
    _unmeter(session, and_(held, _is_one_of([claim for claim in claims if claim.metered])))
    _make_pending(session, and_(held, _is_one_of(claims)))


def list_orphaned(
    session: Session, *, owner: str, queued: set[str], now: datetime
) -> list[OrphanedClaim]:
    """List the claims that no living sender will finish.

    Args:
        queued: ids of the deliveries in the queues of this process (the owner). Any other of its
            claims was committed without a confirmation, and is orphaned when its lease ends.
    """
    rows = session.execute(
        select(
            Delivery.id,
            Delivery.subscription_id,
            Delivery.lease_token,
            Delivery.interruptions,
            Delivery.lease_owner,
            Delivery.lease_until,
        )
        .where(_DELIVERING)
        # By its partial index: ordered by id, SQLite would read the whole table to avoid a sort.
        .order_by(Delivery.lease_owner)
    ).all()
    others = {row.lease_owner for row in rows} - {owner}
    dead = {other for other in others if processes.is_dead(other)}
    living = {other for other in others if processes.is_alive(other)}
    return [
        OrphanedClaim(row.id, row.subscription_id, row.lease_token, row.interruptions)
        for row in rows
        if row.id not in queued
        and (
            row.lease_owner in dead
            or now > row.lease_until + (_STUCK_AFTER if row.lease_owner in living else timedelta())
        )
    ]


def reclaim(session: Session, orphaned: Sequence[OrphanedClaim], *, now: datetime) -> None:
    """Make orphaned claims due again, with the same attempt number.

    An interrupted attempt is not counted, and its delivery keeps its place among those of its
    receiver. From the fifth interruption on it pauses, up to a minute: it may be the one that
    brings its sender down.
    """
    _lock_subscriptions(session, {claim.subscription_id for claim in orphaned})
    for claim in sorted(orphaned, key=lambda orphan: orphan.delivery_id):
        beyond = max(0, claim.interruptions + 1 - _INTERRUPTIONS_WITHOUT_PAUSE)
        pause = timedelta(seconds=min(2**beyond, _LONGEST_PAUSE_S))
        _make_pending(
            session,
            and_(Delivery.id == claim.delivery_id, Delivery.lease_token == claim.lease_token),
            interruptions=Delivery.interruptions + 1,
            due_at=now + pause if beyond else Delivery.due_at,
        )


def _lock_subscriptions(session: Session, subscription_ids: Iterable[str]) -> None:
    """Keep them from being deleted or deactivated meanwhile; SQLite has one writer anyway."""
    session.execute(
        select(Subscription.id)
        .where(Subscription.id.in_(sorted(subscription_ids)))
        .order_by(Subscription.id)
        .with_for_update(read=True)
    )


def _is_one_of(claims: Sequence[Claim]) -> ColumnElement[bool]:
    return Delivery.id.in_([claim.delivery_id for claim in claims])


def _unmeter(session: Session, held: ColumnElement[bool]) -> None:
    """Un-meter released deliveries; the next claim meters them again."""
    statement = update(Delivery).where(held, _DELIVERING).values(metered=False)
    statement = statement.execution_options(synchronize_session=False)
    unmetered = Counter(session.scalars(statement.returning(Delivery.subscription_id)))
    for subscription_id, count in sorted(unmetered.items()):
        count_delivery(session, subscription_id=subscription_id, now=utc_now(), count=-count)


def _make_pending(session: Session, held: ColumnElement[bool], **values: Any) -> None:
    """Make claimed deliveries pending again, or canceled where the subscription has ended."""
    ended = exists().where(
        Subscription.id == Delivery.subscription_id,
        or_(
            Subscription.deleted_at.is_not(None),
            and_(Subscription.deactivated_at.is_not(None), Delivery.trigger != Trigger.TEST),
        ),
    )
    session.execute(
        update(Delivery)
        .where(held, _DELIVERING)
        .values(
            state=case((ended, DeliveryState.CANCELED), else_=DeliveryState.PENDING),
            finished_at=case((ended, utc_now()), else_=None),
            attempts=Delivery.attempts - 1,
            lease_token=None,
            lease_owner=None,
            lease_until=None,
            **values,
        )
        .execution_options(synchronize_session=False)
    )
