"""Preparation of a start: upgrades the tables and creates the first API key and the first admin."""

from pathlib import Path
from typing import TypedDict

from app.api_keys.service import any_key, create_key
from app.core.database.schema_revision import is_usable, stored_revision
from app.core.secrets.private_files import append_private_file
from app.core.settings import Settings
from app.core.storage import deployment
from app.operations import migrating, start_checks, stored_secrets
from app.operations.backups import service as backups
from app.people import passwords
from app.people import service as people
from app.people.roles import ADMIN
from app.privacy import jobs as erasures
from app.wiring import build_runtime


class FirstAccess(TypedDict):
    """Access that was created at this start, and the file that it was added to; else empty.

    `password` is the one-time password of the dashboard's first admin.
    """

    api_key: str
    secret: str
    password: str
    file: str


def prepare(settings: Settings, *, access_file: Path | None) -> FirstAccess:
    """Upgrade the tables; create an API key and an admin if there has never been one.

    Args:
        access_file: the file to add them to; None shows them instead.

    Raises:
        CannotRun: the tables cannot be upgraded, or there is no master key file.
        UnknownMasterKey: a stored secret needs another master key.
    """
    stored_secrets.create_first_key(settings)
    runtime = build_runtime(settings)
    with runtime.db.reading() as session:
        revision, usable = stored_revision(session), is_usable(session)
    if not usable:
        if revision and settings.is_sqlite:
            backups.backup_before_upgrade(settings, revision)
        migrating.upgrade(settings)
    start_checks.require_usable(runtime)
    erasures.repeat_erasures_at_start(runtime)
    with runtime.db.writing() as session:
        deployment.lock(session)
        access = FirstAccess(api_key="", secret="", password="", file="")
        if not any_key(session):
            issued = create_key(session, runtime.keyring, name="First admin key", scopes=["*"])
            access["api_key"], access["secret"] = issued.pair.api_key, issued.pair.secret
        if settings.dashboard and not people.any_user(session):
            password = access["password"] = passwords.new_one_time_password()
            hashed = passwords.hash_password(password)
            people.create(session, name=people.FIRST_ADMIN, role=ADMIN, password_hash=hashed)
        if access_file is not None and (access["api_key"] or access["password"]):
            # Before the commit: access that works must not be lost.
            append_private_file(access_file, "\n".join(lines_of(access)) + "\n")
            access["file"] = str(access_file)
        return access


def lines_of(access: FirstAccess) -> list[str]:
    lines = []
    if access["api_key"]:
        lines += [f"API key    {access['api_key']}", f"Secret     {access['secret']}"]
    if access["password"]:
        lines += [f"Dashboard  {people.FIRST_ADMIN} / {access['password']}"]
    return lines
