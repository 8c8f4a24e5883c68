"""Upserts: rows under external ids are created once, then updated to the given values."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import inspect, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.errors import InvalidInput
from app.core.ids import new_id

MAX_EXTERNAL_ID = 200
EXTERNAL_ID_PATTERN = rf"[^/\x00-\x1f\x7f-\x9f]{{1,{MAX_EXTERNAL_ID}}}"
EXTERNAL_ID_MESSAGE = f"externalId must have 1 to {MAX_EXTERNAL_ID} characters, without slashes and control characters."


class ExternallyKeyed(Table):
    """Columns of tables with an external id; it is null for rows that were created here."""

    __abstract__ = True

    id: Mapped[str] = mapped_column(primary_key=True)
    external_id: Mapped[str | None] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


Row = TypeVar("Row", bound=ExternallyKeyed)
Record = TypeVar("Record")


class Upserted(NamedTuple, Generic[Record]):
    """A stored record, whether it was created, and whether its values changed."""

    record: Record
    created: bool
    changed: bool


def normalised_external_id(in_path: str, in_body: str | None = None) -> str:
    """Return the external id of a path, which the body may repeat, in NFC."""
    external_id = unicodedata.normalize("NFC", in_path)
    if len(external_id) > MAX_EXTERNAL_ID:
        raise InvalidInput.field("externalId", EXTERNAL_ID_MESSAGE, code="LENGTH", location="path")
    # U+FFFD replaces bytes that are not UTF-8: two different keys would become one.
    if not re.fullmatch(EXTERNAL_ID_PATTERN, external_id) or "\ufffd" in external_id:
        raise InvalidInput.field("externalId", EXTERNAL_ID_MESSAGE, location="path")
    if in_body is not None and unicodedata.normalize("NFC", in_body) != external_id:
        raise InvalidInput.field("externalId", "externalId must equal the one in the path.")
    return external_id


def upsert_into(session: Session, table: Any) -> Any:
    """Return an INSERT that has `on_conflict_do_nothing` and `on_conflict_do_update`."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


def insert_missing(session: Session, table: type[Table], **values: Any) -> bool:
    """Insert a row, unless one with its key exists; return whether it was inserted."""
    statement = upsert_into(session, table).values(**values).on_conflict_do_nothing()
    return session.execute(statement.returning(*inspect(table).primary_key)).first() is not None


def upsert(
    session: Session, table: type[Row], prefix: str, external_id: str, values: Mapping[str, Any]
) -> Upserted[Row]:
    """Create or update the row of an external id.

    A row that has the values already stays unchanged, `updated_at` included.
    """
    row, created = find_or_create(session, table, prefix, external_id, values)
    return Upserted(row, created, changed=created or update_row(session, row, values))


def find_or_create(
    session: Session, table: type[Row], prefix: str, external_id: str, values: Mapping[str, Any]
) -> tuple[Row, bool]:
    """Return the locked row of an external id, created from these values where it is missing.

    Of two transactions that create the same row, the later waits and finds the earlier one's.
    """
    row = find(session, table, external_id)
    if row is not None:
        return row, False
    now = utc_now()
    row = table(
        id=new_id(prefix), external_id=external_id, created_at=now, updated_at=now, **values
    )
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        row = find(session, table, external_id)
        if row is None:
            raise
        return row, False
    return row, True


def update_row(session: Session, row: ExternallyKeyed, values: Mapping[str, Any]) -> bool:
    """Set the values that differ; return whether any did."""
    changes = {field: value for field, value in values.items() if getattr(row, field) != value}
    if not changes:
        return False
    for field, value in changes.items():
        setattr(row, field, value)
    row.updated_at = utc_now()
    session.flush()
    return True


def find(session: Session, table: type[Row], external_id: str) -> Row | None:
    """Return the row of an external id, locked."""
    return session.scalar(
        select(table).where(table.external_id == external_id).with_for_update(of=table)
    )
