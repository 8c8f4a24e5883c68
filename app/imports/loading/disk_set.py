"""Set of texts that moves to disk when it grows."""

import sqlite3
from collections.abc import Iterable


class DiskSet:
    """A set of texts in a temporary SQLite database, so that its memory stays bounded."""

    def __init__(self) -> None:
        # SQLite keeps a database without a name in memory, and moves it to an unnamed file as it
        # grows.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE texts (text TEXT PRIMARY KEY) WITHOUT ROWID")

    def __len__(self) -> int:
        (number,) = self._database.execute("SELECT count(*) FROM texts").fetchone()
        return int(number)

    def add(self, text: str) -> bool:
        """Add a text; return whether it is new."""
        cursor = self._database.execute("INSERT OR IGNORE INTO texts VALUES (?)", (text,))
        return cursor.rowcount == 1

    def remove(self, texts: Iterable[str]) -> None:
        """Remove these texts."""
        rows = [(text,) for text in texts]
        self._database.executemany("DELETE FROM texts WHERE text = ?", rows)

    def first(self, limit: int) -> list[str]:
        """Return the first texts in their order."""
        rows = self._database.execute("SELECT text FROM texts ORDER BY text LIMIT ?", (limit,))
        return [text for (text,) in rows]

    def close(self) -> None:
        """Delete the set."""
        self._database.close()
