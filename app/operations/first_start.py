"""What has to be there before the web server starts: the tables, and one key to begin with."""

from typing import TypedDict

from app.api_keys.service import any_key, create_key
from app.core.database.schema_revision import needed_revision, stored_revision
from app.core.settings import Settings
from app.operations import database_files, migrating, sealed_secrets
from app.operations.failure import CannotRun
from app.wiring import build_runtime


class FirstKey(TypedDict):
    """The pair that is shown once, on the first start; empty texts on every other."""

    api_key: str
    secret: str


def prepare(settings: Settings) -> FirstKey:
    """Bring the tables up to date, and make an admin key if there never was a key.

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
            return FirstKey(api_key="", secret="")
        issued = create_key(session, runtime.keyring, name="First admin key", scopes=["*"])
    return FirstKey(api_key=issued.pair.api_key, secret=issued.pair.secret)
