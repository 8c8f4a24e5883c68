"""Counters of rows that many transactions change: added up, and written last before the commit.

A row is locked from its update to the commit. Early in a transaction, a counter of everybody would
make everybody wait.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from sqlalchemy import CursorResult, event, update
from sqlalchemy.orm import Mapped, Session, SessionTransaction, mapped_column

from app.core.database.session import Table, before_commit
from app.core.database.upserts import upsert_into

_CHANGES = "counter_changes"


class Counted(Table):
    """A table with counters; its primary key is one text."""

    __abstract__ = True

    @classmethod
    def add(cls, session: Session, row_id: str, amounts: Mapping[str, int]) -> bool:
        """Add to the counters of a row now, and return whether it exists; use `add_at_commit`."""
        [key] = cls.__table__.primary_key
        added = session.execute(
            update(cls)
            .where(key == row_id)
            .values(cls.raised(amounts))
            .execution_options(synchronize_session=False)
        )
        return cast(CursorResult[Any], added).rowcount > 0

    @classmethod
    def raised(cls, amounts: Mapping[str, int]) -> dict[str, Any]:
        """Return new values by column, as SQL, so that no concurrent change is lost."""
        return {column: getattr(cls, column) + amount for column, amount in amounts.items()}


class Total(Counted):
    """A table of totals over another table's rows: one row per kind, created by its first change."""

    __abstract__ = True

    kind: Mapped[str] = mapped_column(primary_key=True)
    quantity: Mapped[int]

    @classmethod
    def add(cls, session: Session, row_id: str, amounts: Mapping[str, int]) -> bool:
        """Add to the total of a kind now; create its row if needed."""
        statement = upsert_into(session, cls).values(kind=row_id, **amounts)
        sums = {"quantity": cls.quantity + statement.excluded.quantity}
        session.execute(statement.on_conflict_do_update(index_elements=["kind"], set_=sums))
        return True


class _Change(NamedTuple):
    transaction: SessionTransaction | None
    table: type[Counted]
    row_id: str
    amounts: Mapping[str, int]


def add_at_commit(session: Session, table: type[Counted], row_id: str, **amounts: int) -> None:
    """Add to counters of a row when this transaction commits.

    Until then the transaction itself reads the former values, too.
    """
    transaction = session.get_nested_transaction() or session.get_transaction()
    changes = session.info.setdefault(_CHANGES, [])
    changes.append(_Change(transaction, table, row_id, amounts))
    before_commit(session, _write)


def _write(session: Session) -> None:
    sums: dict[tuple[str, str], tuple[type[Counted], Counter[str]]] = {}
    for change in session.info.pop(_CHANGES):
        row = change.table.__tablename__, change.row_id
        _, amounts = sums.setdefault(row, (change.table, Counter()))
        amounts.update(change.amounts)
    # In one order: otherwise two transactions could wait for each other.
    for (_, row_id), (table, amounts) in sorted(sums.items(), key=lambda item: item[0]):
        if any(amounts.values()):
            table.add(session, row_id, amounts)


@event.listens_for(Session, "after_soft_rollback")
def _forget(session: Session, rolled_back: SessionTransaction) -> None:
    """Drop the changes of a savepoint, or of the whole transaction, that was rolled back."""
    if _CHANGES in session.info:
        changes = cast(list[_Change], session.info[_CHANGES])
        changes[:] = [
            change for change in changes if rolled_back not in _with_parents(change.transaction)
        ]


def _with_parents(transaction: SessionTransaction | None) -> Iterator[SessionTransaction]:
    while transaction is not None:
        yield transaction
        transaction = transaction.parent
