"""Preparation before the web server starts: tables up to date, and a first admin key."""

import os
from pathlib import Path
from typing import TypedDict

from app.api_keys.service import any_key, create_key
from app.core.database.schema_revision import needed_revision, stored_revision
from app.core.settings import Settings
from app.operations import database_files, migrating, sealed_secrets
from app.operations.failure import CannotRun
from app.wiring import build_runtime


class FirstKey(TypedDict):
    """The admin key of the first start, or the file that holds it; all empty on later starts."""

    api_key: str
    secret: str
    file: str


def prepare(settings: Settings, *, key_file: Path | None) -> FirstKey:
    """Bring the tables up to date, and make an admin key if there never was a key.

    Args:
        key_file: where the key is written instead of being returned; None returns it.

    Raises:
        CannotRun: a stored secret needs a master key that is not there.
    """
    runtime = build_runtime(settings)
    with runtime.db.reading() as session:
        found = stored_revision(session)
    if found != needed_revision():
        if found and settings.is_sqlite:
            database_files.backup_before_upgrade(settings, found)
        migrating.upgrade(settings)
    with runtime.db.reading() as session:
        missing = sealed_secrets.missing_master_keys(session, runtime.keyring)
    if missing:
        raise CannotRun(
            f"stored secrets need the master keys {', '.join(missing)}: add them to "
            "CQE_MASTER_KEYS behind the new one, and run `./run secrets rewrap`"
        )
    with runtime.db.writing() as session:
        if any_key(session):
            return FirstKey(api_key="", secret="", file="")
        issued = create_key(session, runtime.keyring, name="First admin key", scopes=["*"])
        if key_file is None:
            return FirstKey(api_key=issued.pair.api_key, secret=issued.pair.secret, file="")
        # Before the commit: a key that works must not be lost.
        _write(key_file, f"API key  {issued.pair.api_key}\nSecret   {issued.pair.secret}\n")
    return FirstKey(api_key="", secret="", file=str(key_file))


def _write(file: Path, text: str) -> None:
    """Write a fresh file that only its owner may read."""
    file.unlink(missing_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
