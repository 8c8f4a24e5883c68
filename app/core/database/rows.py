"""Rows: found by id or name, their shown columns, references to them, and versions for If-Match."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import RowMapping, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.database.session import Reader, Table
from app.core.errors import InvalidInput, NotFound, PreconditionFailed
from app.core.json_documents import camel_case

Row = TypeVar("Row", bound=Table)


class Versioned(Protocol):
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


@dataclass(frozen=True, slots=True)
class NamedTable(Generic[Row]):
    """Lookups in one table.

    `noun` names a row in error messages; a reference to it by name is `name`, as in `call_center`.
    `way_out` is what to do where several rows have one name.
    """

    model: type[Row]
    noun: str
    name: str
    way_out: str = "give its id instead"

    @property
    def column(self) -> str:
        """The column of a reference by id."""
        return f"{self.name}_id"

    @property
    def field(self) -> str:
        """The API's field of a reference by id."""
        return camel_case(self.column)

    @property
    def name_field(self) -> str:
        """The API's field of a reference by name."""
        return camel_case(self.name)

    def get(self, session: Session, row_id: str, *, for_update: bool = False) -> Row:
        """Return a row, locked if `for_update`; raises `NotFound`."""
        return find_row(session, self.model, row_id, self.noun, for_update=for_update)

    def of_name(self, session: Session, name: str) -> Row:
        """Return the row of this name.

        Raises:
            InvalidInput: not exactly one row has the name; the error names the field of the name.
        """
        row = self.find_by_name(session, name)
        if row is None:
            raise InvalidInput.field(self.name_field, f"There is no {self.noun} of this name.")
        return row

    def find_by_name(self, session: Session, name: str) -> Row | None:
        """Return the row of this name; raises `InvalidInput` where several rows have it."""
        named = select(self.model).where(self.model.__table__.c.name == name)
        rows = session.scalars(named.limit(2)).all()
        if len(rows) > 1:
            raise self.ambiguous()
        return rows[0] if rows else None

    def ambiguous(self) -> InvalidInput:
        message = f"More than one {self.noun} has this name; {self.way_out}."
        return InvalidInput.field(self.name_field, message)

    def ids_of_names(self, session: Session, names: Collection[str]) -> dict[str, str]:
        """Map names to the ids of their rows, without names that several rows have."""
        columns = self.model.__table__.c
        rows = session.execute(
            select(columns.name, func.min(columns.id))
            .where(columns.name.in_(names))
            .group_by(columns.name)
            .having(func.count() == 1)
        )
        return dict(rows.all())

    def require(self, session: Session, row_id: str | None) -> None:
        """Check a reference; None is allowed.

        Raises:
            InvalidInput: the row does not exist; the error names the field.
        """
        self.require_all(session, {row_id} if row_id is not None else set())

    def require_all(self, session: Session, row_ids: Set[str]) -> None:
        """Check references, as `require` does."""
        if row_ids and len(self.names(session, row_ids)) < len(row_ids):
            raise InvalidInput.field(self.field, f"There is no such {self.noun}.")

    def names(self, session: Session, row_ids: Collection[str]) -> dict[str, str]:
        """Map ids to names, without ids that do not exist."""
        columns = self.model.__table__.c
        rows = session.execute(select(columns.id, columns.name).where(columns.id.in_(row_ids)))
        return {row.id: row.name for row in rows}

    def choices(self, session: Session, *, limit: int) -> dict[str, str]:
        """Map the ids of the first rows to their names, in the order of the names."""
        columns = self.model.__table__.c
        in_order = select(columns.id, columns.name).order_by(columns.name, columns.id)
        return {row.id: row.name for row in session.execute(in_order.limit(limit))}


def ids_of_names(
    session: Session, names: Mapping[str, str], tables: Iterable[NamedTable[Any]]
) -> dict[str, str]:
    """Return the ids by column for the names of references.

    Raises:
        InvalidInput: not exactly one row has a name; the error names the field.
    """
    return {
        table.column: table.of_name(session, names[table.name]).id
        for table in tables
        if table.name in names
    }
