"""Runs migrations on the connection that the caller hands over, or on the settings' database."""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy.types import TypeDecorator

from app.core.database.session import Table
from app.operations import data_dir
from app.operations.environment import settings_here
from app.operations.migrating import migration_engine, note_step
from app.packages import load_tables

load_tables()


def render_item(kind: str, item: Any, _: AutogenContext) -> str | Literal[False]:
    """Write plain column types, so that an old migration needs no class of today's code."""
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{item.impl_instance!r}"
    return False


def run(connection: Any) -> None:
    """Run every outstanding migration in the transaction that is open, or in one each."""
    context.configure(
        connection=connection,
        target_metadata=Table.metadata,
        render_as_batch=True,
        render_item=render_item,
        transactional_ddl=True,
        transaction_per_migration=True,
        on_version_apply=note_step,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    settings = settings_here()
    data_dir.prepare(settings.data_dir)
    with migration_engine(settings).connect() as own:
        run(own)
