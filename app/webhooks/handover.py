"""Claims that nobody will finish: handed back, or taken over after a crash."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, literal_column, or_, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.process import owner
from app.usage.service import count_delivery
from app.webhooks.claims import Claim
from app.webhooks.models import Delivery, DeliveryState, Subscription, Trigger

# A literal, not a parameter: with this SQLite knows that the partial index will do.
_DELIVERING = Delivery.state == literal_column("'delivering'")

# A living owner on this host keeps its claims, whatever the clock says; a stuck one not for ever.
_STUCK_AFTER = timedelta(minutes=10)
_FREE_INTERRUPTIONS = 5
_MAX_PAUSE_S = 60


@dataclass(frozen=True, slots=True)
class Lost:
    """A delivery whose sender was killed, or has lost its lease."""

    delivery_id: str
    subscription_id: str
    token: str
    interruptions: int


def hand_back(session: Session, claims: Sequence[Claim]) -> None:
    """Return claims that were not sent, or not to an end: as if they had never been taken."""
    _hold_still(session, {each.receiver.id for each in claims})
    held = Delivery.lease_token.in_({each.token for each in claims})
    _meter_no_more(session, and_(held, _is_one_of([each for each in claims if each.metered])))
    _free(session, and_(held, _is_one_of(claims)))


def lost(session: Session, *, holder: str, held: set[str], now: datetime) -> list[Lost]:
    """List what no living sender will finish.

    Args:
        held: ids that this process has in hand; another of its own was claimed in a commit whose
            answer did not arrive.
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
        # By its partial index; ordered by id, SQLite would read the whole table to spare a sort.
        .order_by(Delivery.lease_owner)
    ).all()
    others = {row.lease_owner for row in rows} - {holder}
    ended = {each for each in others if owner.is_dead(each)}
    living = {each for each in others if owner.is_alive(each)}
    return [
        Lost(row.id, row.subscription_id, row.lease_token, row.interruptions)
        for row in rows
        if row.id not in held
        and (
            row.lease_owner in ended
            or now > row.lease_until + (_STUCK_AFTER if row.lease_owner in living else timedelta())
        )
    ]


def take_over(session: Session, found: Sequence[Lost], *, now: datetime) -> None:
    """Make what a crash cut off due again, with the same attempt number.

    It is not counted: a receiver gets its three attempts. From the fifth interruption on it rests
    a while, in case that it is what brings its sender down.
    """
    _hold_still(session, {each.subscription_id for each in found})
    for each in sorted(found, key=lambda lost: lost.delivery_id):
        beyond = max(0, each.interruptions + 1 - _FREE_INTERRUPTIONS)
        pause_s = min(2**beyond, _MAX_PAUSE_S) if beyond else 0
        _free(
            session,
            and_(Delivery.id == each.delivery_id, Delivery.lease_token == each.token),
            interruptions=Delivery.interruptions + 1,
            due_at=now + timedelta(seconds=pause_s),
        )


def _hold_still(session: Session, subscription_ids: Iterable[str]) -> None:
    """Let none be deleted or deactivated meanwhile, where the database has more than one writer."""
    session.execute(
        select(Subscription.id)
        .where(Subscription.id.in_(sorted(subscription_ids)))
        .order_by(Subscription.id)
        .with_for_update(read=True)
    )


def _is_one_of(claims: Sequence[Claim]) -> ColumnElement[bool]:
    return Delivery.id.in_([each.delivery_id for each in claims])


def _meter_no_more(session: Session, held: ColumnElement[bool]) -> None:
    """Take off the count what is to be metered with its next claim, if there is one."""
    statement = update(Delivery).where(held, _DELIVERING).values(metered=False)
    statement = statement.execution_options(synchronize_session=False)
    freed = Counter(session.scalars(statement.returning(Delivery.subscription_id)))
    for subscription_id, count in sorted(freed.items()):
        count_delivery(session, subscription_id=subscription_id, now=utc_now(), count=-count)


def _free(session: Session, held: ColumnElement[bool], **values: Any) -> None:
    over = exists().where(
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
            state=case((over, DeliveryState.CANCELED), else_=DeliveryState.PENDING),
            finished_at=case((over, utc_now()), else_=None),
            attempts=Delivery.attempts - 1,
            lease_token=None,
            lease_owner=None,
            lease_until=None,
            **values,
        )
        .execution_options(synchronize_session=False)
    )
