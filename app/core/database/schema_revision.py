"""Which revision the tables have and which one this code needs, without loading Alembic."""

import re
from functools import cache
from importlib.resources import files

from sqlalchemy import Connection, inspect, text
from sqlalchemy.orm import Session

_ASSIGNED = re.compile(
    r"^(revision|down_revision)\b[^=\n]*=\s*[\"']([0-9a-z_]+)[\"']", re.MULTILINE
)


@cache
def needed_revision() -> str:
    """Return the newest revision that this code ships, or an empty text where there is none."""
    replaced = set(_steps().values())
    heads = sorted(set(_steps()) - replaced)
    if len(heads) > 1:
        raise RuntimeError(f"the migrations have several heads: {', '.join(heads)}")
    return heads[0] if heads else ""


def is_known(revision: str) -> bool:
    """Whether this code ships the migration that makes a revision; a newer version's it does not."""
    return revision in _steps()


def stored_revision(database: Session | Connection) -> str:
    """Return the revision of the tables, or an empty text for a database without any."""
    connection = database.connection() if isinstance(database, Session) else database
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.scalar(text("SELECT version_num FROM alembic_version")) or ""


def is_at_head(database: Session | Connection) -> bool:
    """Whether the tables are those that this code needs."""
    return stored_revision(database) == needed_revision()


@cache
def _steps() -> dict[str, str]:
    """Map each revision to the one before it."""
    steps: dict[str, str] = {}
    folder = files("migrations") / "versions"
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.name.endswith(".py"):
            found = dict(_ASSIGNED.findall(file.read_text(encoding="utf-8")))
            if "revision" in found:
                steps[found["revision"]] = found.get("down_revision", "")
    return steps
