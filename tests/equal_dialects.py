"""SQL dialects that all engines of a process share what they have compiled by.

A test process makes more than a thousand engines; compiling the same statements for each took a
tenth of its time.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

_compiled: LRUCache[Any, Any] = LRUCache(3_000)


class _Equal:
    """Equal to a dialect of its class that reads and writes JSON alike: the cache has it in its keys."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and hash(other) == hash(self)

    def __hash__(self) -> int:
        return hash((type(self), self._json_deserializer))  # type: ignore[attr-defined]


class Sqlite(_Equal, SQLiteDialect_pysqlite):
    supports_statement_cache = True


class Postgresql(_Equal, PGDialect_psycopg):
    supports_statement_cache = True


def share_compiled_statements() -> None:
    """Let all engines that are created from now on share one cache of compiled statements."""
    registry.register("sqlite", __name__, Sqlite.__name__)
    registry.register("postgresql.psycopg", __name__, Postgresql.__name__)
    event.listen(Engine, "engine_connect", _use_shared)


def _use_shared(connection: Connection) -> None:
    connection.execution_options(compiled_cache=_compiled)
