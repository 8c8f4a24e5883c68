"""What is done with call centres."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database import upserts
from app.core.errors import InvalidInput, NotFound
from app.directory.models import CallCenter


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[CallCenter, bool]:
    """Bring a call centre to these values, and tell whether it had to be made."""
    return upserts.upsert(session, CallCenter, "cc", external_id, values)


def get(session: Session, call_center_id: str) -> CallCenter:
    """Return a call centre; `NotFound` where there is none."""
    call_center = session.get(CallCenter, call_center_id)
    if call_center is None:
        raise NotFound("There is no such call centre.")
    return call_center


def find_by_name(session: Session, name: str) -> CallCenter | None:
    """Return the call centre of this name, the oldest where several have it."""
    return session.scalar(
        select(CallCenter).where(CallCenter.name == name).order_by(CallCenter.id).limit(1)
    )


def require(session: Session, call_center_id: str | None, *, field: str = "callCenterId") -> None:
    """Refuse a reference to a call centre that is not there.

    Raises:
        InvalidInput: naming the field.
    """
    if call_center_id is not None and session.get(CallCenter, call_center_id) is None:
        raise InvalidInput.field(field, "There is no such call centre.")


def names_of(session: Session, call_center_ids: Collection[str]) -> dict[str, str]:
    """Map ids to names; what is not there is left out."""
    found = select(CallCenter.id, CallCenter.name).where(CallCenter.id.in_(call_center_ids))
    return {row.id: row.name for row in session.execute(found)}
