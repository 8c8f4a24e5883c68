"""What is done with executives."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database import upserts
from app.core.errors import InvalidInput, NotFound
from app.directory import call_centers
from app.directory.models import Executive


def upsert(session: Session, external_id: str, values: Mapping[str, Any]) -> tuple[Executive, bool]:
    """Bring an executive to these values, and tell whether it had to be made.

    Raises:
        InvalidInput: there is no such call centre; the field is `callCenterId`.
    """
    call_centers.require(session, values.get("call_center_id"))
    return upserts.upsert(session, Executive, "exec", external_id, values)


def get(session: Session, executive_id: str) -> Executive:
    """Return an executive; `NotFound` where there is none."""
    executive = session.get(Executive, executive_id)
    if executive is None:
        raise NotFound("There is no such executive.")
    return executive


def find_by_name(session: Session, name: str) -> Executive | None:
    """Return the executive of this name, the oldest where several have it."""
    return session.scalar(
        select(Executive).where(Executive.name == name).order_by(Executive.id).limit(1)
    )


def require(session: Session, executive_id: str | None, *, field: str = "executiveId") -> None:
    """Refuse a reference to an executive that is not there.

    Raises:
        InvalidInput: naming the field.
    """
    if executive_id is not None and session.get(Executive, executive_id) is None:
        raise InvalidInput.field(field, "There is no such executive.")


def names_of(session: Session, executive_ids: Collection[str]) -> dict[str, str]:
    """Map ids to names; what is not there is left out."""
    found = select(Executive.id, Executive.name).where(Executive.id.in_(executive_ids))
    return {row.id: row.name for row in session.execute(found)}
