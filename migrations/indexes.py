"""Indexes of migrations, built while the service writes."""

from typing import Any

from alembic import op


def create_index(name: str, table: str, columns: list[Any], **options: Any) -> None:
    """Create an index, also in the place of one of that name.

    On PostgreSQL it holds up no writers and runs outside of the transaction: call it first in a
    migration, because what comes before it is committed.
    """
    if op.get_bind().dialect.name != "postgresql":
        op.drop_index(name, table, if_exists=True)
        op.create_index(name, table, columns, **options)
        return
    with op.get_context().autocommit_block():
        # The build waits for all open transactions, but no transaction waits for the build.
        op.execute("SET lock_timeout = 0")
        # An interrupted build leaves an index that is not used.
        op.drop_index(name, table, if_exists=True, postgresql_concurrently=True)
        op.create_index(name, table, columns, postgresql_concurrently=True, **options)
        op.execute("RESET lock_timeout")
