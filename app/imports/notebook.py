"""Seen keys of an import run, kept on disk when there are many."""

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self


class Notebook:
    """Keys that were seen and evaluations that are awaited, in a private file that ends with it."""

    def __init__(self) -> None:
        # An empty name: SQLite keeps it in memory while it is small, then in a file without a name.
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._rows.execute("PRAGMA journal_mode=OFF")
        self._rows.execute("CREATE TABLE seen (key BLOB PRIMARY KEY) WITHOUT ROWID")
        self._rows.execute("CREATE TABLE awaited (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._rows.close()

    def is_new(self, kind: str, external_id: str) -> bool:
        """Whether this key was not seen before; from now on it was."""
        key = hashlib.blake2b(f"{kind}\n{external_id}".encode(), digest_size=16).digest()
        noted = self._rows.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
        return noted.rowcount == 1

    def wait_for(self, evaluation_ids: Iterable[str]) -> None:
        """Remember evaluations that were asked for."""
        rows = [(each,) for each in evaluation_ids]
        self._rows.executemany("INSERT OR IGNORE INTO awaited VALUES (?)", rows)

    def awaited(self, limit: int = 500) -> Sequence[str]:
        """Return the first evaluations that have not ended."""
        rows = self._rows.execute("SELECT id FROM awaited ORDER BY id LIMIT ?", (limit,))
        return [row[0] for row in rows]

    def ended(self, evaluation_ids: Iterable[str]) -> None:
        """Strike out evaluations."""
        self._rows.executemany(
            "DELETE FROM awaited WHERE id = ?", [(each,) for each in evaluation_ids]
        )

    @property
    def waiting(self) -> int:
        """How many evaluations have not ended."""
        return int(self._rows.execute("SELECT count(*) FROM awaited").fetchone()[0])
