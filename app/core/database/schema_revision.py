"""Schema revision of the database and of this code, read without loading Alembic."""

import re
from functools import cache
from importlib.resources import files

from sqlalchemy import inspect, select, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Reader, Table, connection_of


class SchemaState(Table):
    """One row: the newest revision that older code cannot work without (docs/upgrading.md)."""

    __tablename__ = "schema_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    oldest_code: Mapped[str]


_ASSIGNED = re.compile(
    r"^(revision|down_revision)\b[^=\n]*=\s*[\"']([0-9a-z_]+)[\"']", re.MULTILINE
)


@cache
def needed_revision() -> str:
    """Return the newest revision of this code; empty without any."""
    replaced = set(_previous().values())
    heads = sorted(set(_previous()) - replaced)
    if len(heads) > 1:
        raise RuntimeError(f"the migrations have several heads: {', '.join(heads)}")
    return heads[0] if heads else ""


def is_known(revision: str) -> bool:
    """Return whether this code contains the migration to a revision."""
    return revision in _previous()


def stored_revision(database: Reader) -> str:
    """Return the revision of the tables; empty for a database without tables."""
    connection = connection_of(database)
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.scalar(text("SELECT version_num FROM alembic_version")) or ""


def is_usable(database: Reader) -> bool:
    """Return whether this code works with the tables: its own, or newer ones that only add."""
    revision = stored_revision(database)
    if is_known(revision):
        return revision == needed_revision()
    connection = connection_of(database)
    has_state = inspect(connection).has_table(SchemaState.__tablename__)
    return has_state and is_known(connection.scalar(select(SchemaState.oldest_code)) or "")


@cache
def _previous() -> dict[str, str]:
    """Map each revision to the one before it."""
    steps: dict[str, str] = {}
    folder = files("migrations") / "versions"
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.name.endswith(".py"):
            assigned = dict(_ASSIGNED.findall(file.read_text(encoding="utf-8")))
            if "revision" in assigned:
                steps[assigned["revision"]] = assigned.get("down_revision", "")
    return steps
