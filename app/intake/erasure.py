"""Erasure of what sources have sent: bodies of deliveries that wait or have failed."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from app.core.secrets.encryption import UnknownMasterKey
from app.intake import sealing
from app.intake.catalogue import VENDORS
from app.intake.models import IntakeDelivery

# A shorter reference has to be a whole value: parts of many texts are like it.
_LEAST_PART = 6
_ERASED = {"code": "ERASED", "message": "What was sent was erased at the customer's request."}
_MAY_BE_ERASED = {
    "code": "ERASED",
    "message": "This waited when the backup was made, and customers were erased since then: send it "
    "again unless it is of one of them.",
}


def mentioning(runtime: Runtime, customer_ref: str) -> list[str]:
    with runtime.db.reading() as session:
        held = select(IntakeDelivery.id).where(IntakeDelivery.sealed_body.is_not(None))
        delivery_ids = session.scalars(held).all()
    return [
        delivery_id for delivery_id in delivery_ids if _mentions(runtime, delivery_id, customer_ref)
    ]


def erase(session: Session, delivery_ids: Sequence[str]) -> None:
    """Delete the bodies of deliveries; what waits there is not stored."""
    _delete_bodies(session, IntakeDelivery.id.in_(delivery_ids), _ERASED)


def erase_older(session: Session, *, before: datetime) -> None:
    """Delete all bodies from before an erasure of a restored database: its record names no customer."""
    _delete_bodies(session, IntakeDelivery.queued_at < before, _MAY_BE_ERASED)


def _delete_bodies(session: Session, chosen: ColumnElement[bool], error: dict[str, str]) -> None:
    rows = select(IntakeDelivery).where(chosen, IntakeDelivery.sealed_body.is_not(None))
    for row in session.scalars(rows.with_for_update()):
        row.sealed_body, row.error = None, error
        if row.state in leases.OPEN_STATES:
            leases.end(row, JobState.FAILED, utc_now())


def _mentions(runtime: Runtime, delivery_id: str, customer_ref: str) -> bool:
    with runtime.db.reading() as session:
        row = session.get(IntakeDelivery, delivery_id)
        if row is None or row.sealed_body is None:
            return False
        try:
            body = sealing.unseal_body(runtime.keyring, row)
        except UnknownMasterKey:
            return False
        source = row.source
    if source not in VENDORS:
        return customer_ref.encode() in body
    texts = _texts_of(VENDORS[source].document_of(body))
    if len(customer_ref) < _LEAST_PART:
        return customer_ref in texts
    return any(customer_ref in text for text in texts)


def _texts_of(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for member in value:
            yield from _texts_of(member)
    elif isinstance(value, str | int):
        yield str(value)
