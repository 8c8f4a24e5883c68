"""Lookups in tables whose rows have an id and a name."""

from collections.abc import Collection, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.database.session import Table
from app.core.errors import InvalidInput, NotFound

Row = TypeVar("Row", bound=Table)


@dataclass(frozen=True, slots=True)
class NamedTable(Generic[Row]):
    """Lookups in one table.

    `noun` names a row in error messages, `field` is the API's field for a reference to it.
    """

    model: type[Row]
    noun: str
    field: str

    def get(self, session: Session, row_id: str) -> Row:
        """Return a row; raises `NotFound`."""
        row = session.get(self.model, row_id)
        if row is None:
            raise NotFound(self._missing)
        return row

    def find_by_name(self, session: Session, name: str) -> Row | None:
        """Return the row of this name, the oldest if several have it."""
        columns = self.model.__table__.c
        return session.scalar(
            select(self.model).where(columns.name == name).order_by(columns.id).limit(1)
        )

    def ids_of_names(self, session: Session, names: Collection[str]) -> dict[str, str]:
        """Map names to the ids of their rows, the oldest if several have one."""
        columns = self.model.__table__.c
        rows = session.execute(
            select(columns.name, columns.id)
            .where(columns.name.in_(names))
            .order_by(columns.id.desc())
        )
        return {row.name: row.id for row in rows}

    def require(self, session: Session, row_id: str | None) -> None:
        """Check a reference; None is allowed.

        Raises:
            InvalidInput: the row does not exist; the error names the field.
        """
        self.require_all(session, {row_id} if row_id is not None else set())

    def require_all(self, session: Session, row_ids: Set[str]) -> None:
        """Check references, as `require` does."""
        if row_ids and len(self.names(session, row_ids)) < len(row_ids):
            raise InvalidInput.field(self.field, self._missing)

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

    @property
    def _missing(self) -> str:
        return f"There is no such {self.noun}."
