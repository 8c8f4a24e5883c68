"""Engagements: create, change, list and look up."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, bindparam, func, insert, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.counters import add_at_commit
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import NamedTable, require_match
from app.core.database.session import Reader, Table
from app.core.errors import InvalidInput, NotFound
from app.core.ids import new_id
from app.engagements.models import Engagement

ENGAGEMENTS = NamedTable(Engagement, "engagement", "engagement")

_TABLE = Table.metadata.tables[Engagement.__tablename__]
_SORTABLE = {name: _TABLE.c[name] for name in ("created_at", "updated_at", "name")}
_ROWS = select(_TABLE)
_ROW = _ROWS.where(_TABLE.c.id == bindparam("engagement_id"))
_INSERT = insert(_TABLE).returning(*_TABLE.c)
_COUNT = select(func.count()).select_from(_TABLE)


def create(
    session: Session,
    *,
    name: str,
    type: str,
    description: str | None = None,
    known_types: tuple[str, ...] = (),
) -> RowMapping:
    """Create an active engagement and return its row.

    Args:
        known_types: the allowed types; empty if any label is allowed.

    Raises:
        InvalidInput: the type is not allowed.
    """
    if known_types and type not in known_types:
        message = f"type must be one of {', '.join(known_types)}."
        raise InvalidInput.field("type", message, code="ENUM")
    now = utc_now()
    values = {
        "id": new_id("eng"),
        "name": name,
        "description": description,
        "type": type,
        "created_at": now,
        "updated_at": now,
    }
    return session.connection().execute(_INSERT, values).mappings().one()


def list_page(session: Reader, request: PageRequest) -> Page[Any]:
    """Return a page of engagements, newest first by default."""
    total = session.scalar(_COUNT) or 0
    return select_page(
        session, _ROWS, request, sortable=_SORTABLE, tail=_TABLE.c.id, total_count=total
    )


def show(session: Reader, engagement_id: str) -> RowMapping:
    row = session.execute(_ROW, {"engagement_id": engagement_id}).mappings().first()
    if row is None:
        raise NotFound("There is no such engagement.")
    return row


def change(
    session: Session,
    engagement_id: str,
    changes: Mapping[str, Any],
    *,
    if_match: str | None = None,
) -> Engagement:
    """Set the given fields and `updated_at`, even if no value differs.

    Raises:
        NotFound: there is no such engagement.
        PreconditionFailed: If-Match names another version.
    """
    engagement = ENGAGEMENTS.get(session, engagement_id, for_update=True)
    require_match(engagement, if_match)
    for field, value in changes.items():
        setattr(engagement, field, value)
    engagement.updated_at = utc_now()
    session.flush()
    return engagement


def find(session: Session, id_or_name: str) -> Engagement:
    """Return an engagement by its id or its name.

    Raises:
        NotFound: it does not exist.
        InvalidInput: several engagements have the name.
    """
    engagement = session.get(Engagement, id_or_name) or ENGAGEMENTS.find_by_name(
        session, id_or_name
    )
    if engagement is None:
        raise NotFound("There is no such engagement.")
    return engagement


def count_evaluations(session: Session, engagement_id: str, number: int) -> None:
    """Add to `evaluation_count` when the transaction commits."""
    add_at_commit(session, Engagement, engagement_id, evaluation_count=number, version=1)
