"""Updates of migrations in batches of rows, so that they hold up no writer of PostgreSQL."""

from contextlib import nullcontext
from typing import Any

import sqlalchemy as sa
from alembic import op

_SIZE = 5_000


def update_in_batches(table: str, statement: str, *, first: Any = "") -> None:
    """Run a statement for all rows of a table, thousands at a time, by id.

    On PostgreSQL each batch is a transaction of its own, and what comes before is committed: after
    an interruption the migration is run again, and must leave the rows that it has done as they are.

    Args:
        statement: bounds the ids by `:after` (exclusive) and `:last` (inclusive).
        first: less than every id.
    """
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    last_of_batch = sa.text(
        f"SELECT max(id) FROM "  # noqa: S608 - a name of a migration
        f"(SELECT id FROM {table} WHERE id > :after ORDER BY id LIMIT {_SIZE}) "
        "AS batch"
    )
    with op.get_context().autocommit_block() if is_postgresql else nullcontext():
        connection, after = op.get_bind(), first
        while (last := connection.scalar(last_of_batch, {"after": after})) is not None:
            connection.execute(sa.text(statement), {"after": after, "last": last})
            after = last
