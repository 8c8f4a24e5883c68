"""PostgreSQL in a backup: written by pg_dump, read by pg_restore."""

import os
import shutil
import subprocess
from pathlib import Path

from sqlalchemy import inspect, make_url

from app.core.settings import Settings
from app.operations.failure import CannotRun
from app.operations.migrating import migration_engine


def dump(settings: Settings, target: Path) -> None:
    """Write one snapshot of the database in the custom format of pg_dump.

    Raises:
        CannotRun: there is no pg_dump, or it fails.
    """
    _run(settings, "pg_dump", "--format=custom", "--no-owner", f"--file={target}")
    target.chmod(0o600)


def load(settings: Settings, source: Path) -> None:
    """Restore a dump into an empty database, as a whole or not at all.

    Raises:
        CannotRun: there is no pg_restore, or it fails.
    """
    options = ("--no-owner", "--exit-on-error", "--single-transaction")
    _run(settings, "pg_restore", *options, str(source))


def require_empty(settings: Settings) -> None:
    """Raise `CannotRun` if the database has tables: a restore overwrites none."""
    with migration_engine(settings).connect() as connection:
        if inspect(connection).get_table_names():
            raise CannotRun(
                "the PostgreSQL database is not empty: create an empty one, and set "
                "CQE_DATABASE_URL to it"
            )


def _run(settings: Settings, program: str, *options: str) -> None:
    path = shutil.which(program)
    if path is None:
        raise CannotRun(
            f"{program} is missing: install the client programs of PostgreSQL, in the version of "
            "the server or a newer one"
        )
    url = make_url(settings.effective_database_url)
    # The arguments of a process can be read by others, its environment cannot.
    environment = {**os.environ, "PGPASSWORD": url.password or ""}
    address = url.set(drivername="postgresql", password=None).render_as_string()
    result = subprocess.run(  # noqa: S603 - found above, no shell
        [path, f"--dbname={address}", *options],
        env=environment if url.password else None,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise CannotRun(f"{program} failed: {result.stderr.strip() or result.returncode}")
