"""Encrypted columns: their secrets under the current master key, and rows whose master key is lost."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, func, not_, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.secrets.encryption import Keyring

# A secret may be the documents of an import: a batch holds the write lock for a moment.
_BATCH = 20
GiveUp = Callable[[Session, Keyring, Sequence[Any]], object]


def delete_rows(session: Session, _: Keyring, rows: Sequence[Any]) -> None:
    for row in rows:
        session.delete(row)


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of secrets that master keys encrypt.

    Attributes:
        name: names a secret in what commands print.
        purpose_of: returns the text that binds a secret to its row, by the row's id.
        give_up: gives up the secrets of rows whose master key is lost.
    """

    name: str
    column: InstrumentedAttribute[Any]
    purpose_of: Callable[[str], str]
    give_up: GiveUp = delete_rows

    def rewrap(self, session: Session, keyring: Keyring) -> int:
        """Encrypt a batch again that an older master key encrypted; return how many."""
        older = select(self.column.class_).where(not_(self._is_of(keyring.current_id)))
        rows = session.scalars(older.limit(_BATCH).with_for_update()).all()
        for row in rows:
            purpose = self.purpose_of(getattr(row, self._id().key))
            token = keyring.rewrap(getattr(row, self.column.key), purpose=purpose)
            setattr(row, self.column.key, token)
        return len(rows)

    def discard(self, session: Session, keyring: Keyring) -> int:
        """Give up the secrets whose master key is lost; return how many."""
        known = or_(*map(self._is_of, keyring.key_ids))
        lost = session.scalars(select(self.column.class_).where(not_(known))).all()
        if lost:
            self.give_up(session, keyring, lost)
        return len(lost)

    def sealed(self, session: Session) -> Iterator[tuple[str, str]]:
        """Yield every secret with its purpose."""
        stored = select(self._id(), self.column).where(self.column.is_not(None))
        for row_id, token in session.execute(stored):
            yield token, self.purpose_of(row_id)

    def _id(self) -> Column[str]:
        (column,) = self.column.class_.__table__.primary_key.columns
        id_column: Column[str] = column
        return id_column

    def _is_of(self, key_id: str) -> ColumnElement[bool]:
        # Not LIKE, which takes upper for lower case on SQLite; null for a row without a secret.
        prefix = Keyring.prefix_of(key_id)
        return func.substr(self.column, 1, len(prefix)) == prefix
