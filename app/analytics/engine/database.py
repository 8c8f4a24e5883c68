"""DuckDB, which reads the parts and aggregates facts: one in-memory database per process."""

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from app.core.settings import Settings

if TYPE_CHECKING:
    import duckdb

Row: TypeAlias = tuple[Any, ...]

# About 30 MB, as one row has up to 40 numbers.
_MOST_REMEMBERED_ROWS = 20_000


class FactDatabase:
    """Opens cursors, one per request or job, and remembers the aggregates of whole parts.

    DuckDB reads and writes nothing outside `folder`, uses no network and loads no extension.
    """

    def __init__(self, folder: Path, *, memory_mb: int, threads: int) -> None:
        # Not at the top: DuckDB takes 0.2 s to load, and most processes never need it.
        import duckdb  # noqa: PLC0415

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.remembered = RememberedRows(_MOST_REMEMBERED_ROWS)
        self._connection = duckdb.connect(
            config={"memory_limit": f"{memory_mb}MB", "threads": threads}
        )
        for name, value in {
            "temp_directory": str(spill_folder(folder, os.getpid())),
            "allowed_directories": [str(folder)],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_external_access": False,
            "parquet_metadata_cache": True,
            "lock_configuration": True,
        }.items():
            self._connection.execute(f"SET {name} = {value!r}")

    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """Open a connection of its own, with temporary tables of its own."""
        return self._connection.cursor()


class RememberedRows:
    """Results by their key; those used least recently are dropped when there are too many rows."""

    def __init__(self, most_rows: int) -> None:
        self._most_rows = most_rows
        self._count = 0
        self._rows: OrderedDict[Hashable, Sequence[Row]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Sequence[Row] | None:
        """Return the rows of a key, or None when they are not remembered."""
        with self._lock:
            if key in self._rows:
                self._rows.move_to_end(key)
            return self._rows.get(key)

    def put(self, key: Hashable, rows: Sequence[Row]) -> None:
        """Remember rows; an empty result counts as one row."""
        with self._lock:
            if key in self._rows:
                return
            self._rows[key] = rows
            self._count += max(1, len(rows))
            while self._count > self._most_rows:
                _, dropped = self._rows.popitem(last=False)
                self._count -= max(1, len(dropped))


def fact_database(settings: Settings) -> FactDatabase:
    """Return this process's database; a forked child gets one of its own."""
    folder = parts_folder(settings)
    return _open(os.getpid(), folder, settings.analytics_memory_mb, settings.analytics_threads)


def parts_folder(settings: Settings) -> Path:
    """Return the folder of the parts."""
    return settings.data_dir.resolve() / "analytics"


def spill_folder(folder: Path, pid: int) -> Path:
    """Return where DuckDB in a process puts what exceeds its memory."""
    return folder / f"spill-{pid}"


@lru_cache(maxsize=4)
def _open(pid: int, folder: Path, memory_mb: int, threads: int) -> FactDatabase:
    return FactDatabase(folder, memory_mb=memory_mb, threads=threads)
