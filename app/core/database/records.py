"""Records that people set up, such as rules and plans: created, listed, changed and deleted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import delete, func, inspect, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.filters import Filters, conditions
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row, require_match
from app.core.database.session import Table, UtcDateTime
from app.core.errors import Conflict
from app.core.ids import new_id


class Recorded(Table):
    """Columns of every such table; `created_by` is the id of the key or the person."""

    __abstract__ = True

    id: Mapped[str] = mapped_column(primary_key=True)
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SetUp(Recorded):
    """Columns of what has a name, can be switched off, and is changed by its version."""

    __abstract__ = True

    name: Mapped[str]
    active: Mapped[bool]
    version: Mapped[int] = mapped_column(default=1)


def is_changed(row: Recorded, name: str) -> bool:
    """Return whether a field is new or changed; only then is what it refers to checked."""
    return bool(inspect(row).attrs[name].history.has_changes())


Record = TypeVar("Record", bound=Recorded)
Made = TypeVar("Made", bound=Recorded, contravariant=True)


class RecordCheck(Protocol[Made]):
    """Checks a record with its new values, and sets what follows from them."""

    def __call__(self, session: Session, row: Made) -> None:
        """Raise `InvalidInput` for what cannot be."""


@dataclass(frozen=True, slots=True)
class Records(Generic[Record]):
    """The records of one table.

    Attributes:
        most: how many there may be.
        of_each: the column, if any, for each value of which there may be so many.
        sortable: the columns by which they are sorted.
        parts: tables whose rows belong to one record and are deleted with it, by their column.
        shown: returns what the API shows of a saved record.
    """

    table: type[Record]
    prefix: str
    noun: str
    most: int
    check: RecordCheck[Record]
    filters: Filters = field(default_factory=dict)
    sortable: tuple[str, ...] = ("created_at", "name")
    of_each: str | None = None
    parts: tuple[Any, ...] = ()
    shown: Callable[[Session, Record], Any] = field(default=lambda _, row: row)

    def create(self, session: Session, values: Mapping[str, Any], *, created_by: str) -> Record:
        """Create a record.

        Raises:
            Conflict: there are too many.
            InvalidInput: see `check`.
        """
        one_at_a_time(session, self.table.__tablename__)
        counted = select(func.count()).select_from(self.table)
        if self.of_each is not None:
            counted = counted.where(getattr(self.table, self.of_each) == values.get(self.of_each))
        if (session.scalar(counted) or 0) >= self.most:
            whose = (
                " of one agent, which is the limit."
                if self.of_each
                else ", which is the limit; delete one."
            )
            raise Conflict(f"There are {self.most} {self.noun}s{whose}")
        now = utc_now()
        row = self.table(
            id=new_id(self.prefix), created_by=created_by, created_at=now, updated_at=now, **values
        )
        self.check(session, row)
        session.add(row)
        session.flush()
        return row

    def list_page(self, session: Session, request: PageRequest, **filters: Any) -> Page[Any]:
        sortable = {name: getattr(self.table, name) for name in self.sortable}
        statement = select(*self.table.__table__.c).where(*conditions(self.filters, filters))
        return select_page(session, statement, request, sortable=sortable, tail=self.table.id)

    def find(self, session: Session, record_id: str, *, for_update: bool = False) -> Record:
        """Return a record; raise `NotFound` if it does not exist."""
        return find_row(session, self.table, record_id, self.noun, for_update=for_update)

    def show(self, session: Session, record_id: str) -> Any:
        return self.shown(session, self.find(session, record_id))

    def change(
        self,
        session: Session,
        record_id: str,
        changes: Mapping[str, Any],
        *,
        if_match: str | None = None,
    ) -> None:
        """Change the given fields; values that the record has already make no new version.

        Raises:
            PreconditionFailed: If-Match names another version.
            InvalidInput: see `check`.
        """
        row = self.find(session, record_id, for_update=True)
        if isinstance(row, SetUp):
            require_match(row, if_match)
        for name, value in changes.items():
            setattr(row, name, value)
        # A flush in the check would hide that the row is modified.
        with session.no_autoflush:
            self.check(session, row)
        if session.is_modified(row):
            row.updated_at = utc_now()
            if isinstance(row, SetUp):
                row.version += 1

    def remove(self, session: Session, record_id: str) -> None:
        row = self.find(session, record_id, for_update=True)
        for column in self.parts:
            session.execute(delete(column.class_).where(column == record_id))
        session.delete(row)
