"""Call centres and executives: lookups and upserts."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.core.database import upserts
from app.core.database.rows import NamedTable
from app.core.database.upserts import Upserted
from app.directory.models import CallCenter, Executive

CALL_CENTERS = NamedTable(CallCenter, "call centre", "call_center")
EXECUTIVES = NamedTable(Executive, "executive", "executive")


def upsert_call_center(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[CallCenter]:
    """Create or update a call centre."""
    return upserts.upsert(session, CallCenter, "cc", external_id, values)


def upsert_executive(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[Executive]:
    """Create or update an executive.

    Raises:
        InvalidInput: there is no such call centre; the field is `callCenterId`.
    """
    CALL_CENTERS.require(session, values.get("call_center_id"))
    return upserts.upsert(session, Executive, "exec", external_id, values)
