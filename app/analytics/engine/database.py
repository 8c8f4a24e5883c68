"""DuckDB database that reads parts and aggregates facts: one per process, in memory."""

import os
import threading
from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cachetools import LRUCache

from app.core.settings import Settings
from app.core.storage.opening import open_storage

if TYPE_CHECKING:
    import duckdb

Row: TypeAlias = tuple[Any, ...]

# About 30 MB.
_MOST_REMEMBERED_VALUES = 500_000


class FactDatabase:
    """Opens cursors, one per request or job, and remembers the aggregates of whole parts.

    DuckDB reads and writes nothing outside `folder`, uses no network and loads no extension.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = folder = parts_folder(settings)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Where the storage is not of this data folder, other hosts may share it.
        self.storage = open_storage(settings) if settings.storage_url else None
        self._remembered: LRUCache[Hashable, Sequence[Row]] = LRUCache(
            _MOST_REMEMBERED_VALUES, getsizeof=lambda rows: sum(map(len, rows)) + 1
        )
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """Open a connection with its own temporary tables."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection.cursor()

    def remembered(self, key: Hashable) -> Sequence[Row] | None:
        """Return remembered rows; None if there are none."""
        with self._lock:
            return self._remembered.get(key)

    def remember(self, key: Hashable, rows: Sequence[Row]) -> None:
        """Remember rows; the least recently used ones are dropped."""
        # Rows that exceed the limit on their own are refused.
        with self._lock, suppress(ValueError):
            self._remembered[key] = rows

    def forget(self) -> None:
        """Forget all rows."""
        with self._lock:
            self._remembered.clear()

    def _connect(self) -> "duckdb.DuckDBPyConnection":
        # Not at the top: DuckDB takes 0.2 s to import and 20 MiB, and most processes do not use it.
        import duckdb  # noqa: PLC0415

        connection = duckdb.connect(
            config={
                "memory_limit": f"{self._settings.analytics_memory_mb}MB",
                "threads": self._settings.analytics_threads,
            }
        )
        for name, value in {
            "temp_directory": str(spill_folder(self.folder, os.getpid())),
            "allowed_directories": [str(self.folder)],
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "enable_external_access": False,
            "parquet_metadata_cache": True,
            "lock_configuration": True,
        }.items():
            connection.execute(f"SET {name} = {value!r}")
        return connection


def fact_database(settings: Settings) -> FactDatabase:
    """Return this process's database; a forked child gets one of its own."""
    return _open(os.getpid(), settings)


def parts_folder(settings: Settings) -> Path:
    """Return the folder of the parts."""
    return settings.data_dir.resolve() / "analytics"


def spill_folder(folder: Path, pid: int) -> Path:
    """Return the folder for the data that exceeds the memory limit of a process."""
    return folder / f"spill-{pid}"


@lru_cache(maxsize=4)
def _open(pid: int, settings: Settings) -> FactDatabase:
    return FactDatabase(settings)
