"""Call centres and executives: lookups and upserts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from app.core.database import upserts
from app.core.database.rows import NamedTable
from app.core.database.upserts import Upserted
from app.directory.enums import ExecutiveKind
from app.directory.models import CallCenter, Executive

CALL_CENTERS = NamedTable(CallCenter, "call centre", "call_center")
EXECUTIVES = NamedTable(Executive, "executive", "executive")


def upsert_call_center(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[CallCenter]:
    return upserts.upsert(session, CallCenter, "cc", external_id, values)


def executives_known_by(session: Session, names: Collection[str]) -> Sequence[Executive]:
    """Return the people whose e-mail address, in any case, or external id is among these names."""
    folded = {name.casefold() for name in names}
    is_known = or_(func.lower(Executive.email).in_(folded), Executive.external_id.in_(names))
    of_people = Executive.kind == ExecutiveKind.HUMAN
    return session.scalars(select(Executive).where(of_people, is_known)).all()


def upsert_executive(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[Executive]:
    """Create or update an executive.

    Raises:
        InvalidInput: there is no such call centre; the field is `callCenterId`.
    """
    CALL_CENTERS.require(session, values.get("call_center_id"))
    return upserts.upsert(session, Executive, "exec", external_id, values)
