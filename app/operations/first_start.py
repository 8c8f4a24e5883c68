"""Preparation of a start: upgrades the tables and creates the first API key."""

from pathlib import Path
from typing import TypedDict

from app.api_keys.service import any_key, create_key
from app.core.database.schema_revision import needed_revision, stored_revision
from app.core.private_files import write_private_file
from app.core.settings import Settings
from app.operations import database_files, migrating, stored_secrets
from app.operations.failure import CannotRun
from app.wiring import build_runtime


class FirstKey(TypedDict):
    """The API key of the first start, or the file that it was written to; empty at later starts."""

    api_key: str
    secret: str
    file: str


def prepare(settings: Settings, *, key_file: Path | None) -> FirstKey:
    """Upgrade the tables, and create an API key if there has never been one.

    Args:
        key_file: the file to write the key to; None returns the key instead.

    Raises:
        CannotRun: a stored secret needs a master key that is missing.
    """
    runtime = build_runtime(settings)
    with runtime.db.reading() as session:
        found = stored_revision(session)
    if found != needed_revision():
        if found and settings.is_sqlite:
            database_files.backup_before_upgrade(settings, found)
        migrating.upgrade(settings)
    with runtime.db.reading() as session:
        missing = stored_secrets.missing_master_keys(session, runtime.keyring)
    if missing:
        raise CannotRun(
            f"stored secrets need the master keys {', '.join(missing)}: add them to "
            "CQE_MASTER_KEYS after the new one, and run `./run secrets rewrap`"
        )
    with runtime.db.writing() as session:
        if any_key(session):
            return FirstKey(api_key="", secret="", file="")
        issued = create_key(session, runtime.keyring, name="First admin key", scopes=["*"])
        if key_file is None:
            return FirstKey(api_key=issued.pair.api_key, secret=issued.pair.secret, file="")
        # Before the commit: a key that works must not be lost.
        key_file.unlink(missing_ok=True)
        write_private_file(
            key_file, f"API key  {issued.pair.api_key}\nSecret   {issued.pair.secret}\n"
        )
    return FirstKey(api_key="", secret="", file=str(key_file))
