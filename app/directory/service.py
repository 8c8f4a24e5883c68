"""Call centres and executives: lookups and upserts."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.core.database import upserts
from app.core.database.named_tables import NamedTable
from app.directory.models import CallCenter, Executive

CALL_CENTERS = NamedTable(CallCenter, "call centre", "callCenterId")
EXECUTIVES = NamedTable(Executive, "executive", "executiveId")


def upsert_call_center(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[CallCenter, bool]:
    """Create or update a call centre; the second value tells whether it was created."""
    return upserts.upsert(session, CallCenter, "cc", external_id, values)


def upsert_executive(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[Executive, bool]:
    """Create or update an executive; the second value tells whether it was created.

    Raises:
        InvalidInput: there is no such call centre; the field is `callCenterId`.
    """
    CALL_CENTERS.require(session, values.get("call_center_id"))
    return upserts.upsert(session, Executive, "exec", external_id, values)
