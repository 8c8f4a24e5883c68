"""Rows: found by id or `NotFound`, their shown columns, and their version for If-Match."""

from collections.abc import Collection
from typing import Any, Protocol, TypeVar

from sqlalchemy import RowMapping, Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.database.session import Reader, Table
from app.core.errors import NotFound, PreconditionFailed

Row = TypeVar("Row", bound=Table)


class Versioned(Protocol):
    """A row that counts its changes."""

    id: str
    version: int


def find_row(
    session: Session, table: type[Row], row_id: str, noun: str, *, for_update: bool = False
) -> Row:
    """Return the row of an id, locked if `for_update`; `NotFound` uses the noun for what is missing."""
    row = session.get(table, row_id, with_for_update=for_update)
    if row is None:
        raise NotFound(f"There is no such {noun}.")
    return row


def find_mapping(session: Reader, statement: Select[*tuple[Any, ...]], noun: str) -> RowMapping:
    """Return the only row of a statement by column names; `NotFound` as in `find_row`."""
    row = session.execute(statement).mappings().first()
    if row is None:
        raise NotFound(f"There is no such {noun}.")
    return row


def columns_without(
    table: type[Table], hidden: Collection[str]
) -> list[InstrumentedAttribute[Any]]:
    """Return the columns of a table except the hidden ones."""
    return [
        getattr(table, column.key) for column in table.__table__.columns if column.key not in hidden
    ]


def etag_of(row_id: str, version: int) -> str:
    """Return the strong ETag of one version of a row, quotes included."""
    return f'"{row_id}.{version}"'


def require_match(row: Versioned, if_match: str | None) -> None:
    """Raise when the caller's If-Match names another version; `*` and no header match any.

    Raises:
        PreconditionFailed: the row has changed since the caller read it.
    """
    if if_match is None or if_match.strip() == "*":
        return
    if etag_of(row.id, row.version) not in (tag.strip() for tag in if_match.split(",")):
        raise PreconditionFailed()
