"""Parts that the service needs: whether each works now."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.orm import Session

from app.core import clock, hosts
from app.core.database import key_checks
from app.core.database.schema_revision import is_usable
from app.core.errors import DiskFull, ServiceUnavailable
from app.core.runtime import Runtime
from app.core.secrets.encryption import UnknownMasterKey
from app.core.storage import deployment
from app.core.storage.files import require_space
from app.core.storage.opening import storage_folder

_CLOCK_TOLERANCE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class ServicePart:
    """One part: its name in /health, its label, and what an alert says when it fails.

    Attributes:
        is_vital: whether the service answers no request without it.
        is_of_host: whether this host should get no requests while it fails.
        is_late: whether it starts after the web server.
    """

    name: str
    label: str
    alert: str
    works: Callable[[Runtime], bool]
    is_vital: bool = False
    is_of_host: bool = False
    is_late: bool = False


def failing(runtime: Runtime) -> list[ServicePart]:
    return [part for part in PARTS if not part.works(runtime)]


def _in_database(runtime: Runtime, check: Callable[[Session], bool]) -> bool:
    """Return the result of a check of up-to-date tables; False if they cannot be read."""
    try:
        with runtime.db.reading() as session:
            return is_usable(session) and check(session)
    except ServiceUnavailable:
        return False


def _database_is_ready(runtime: Runtime) -> bool:
    return _in_database(runtime, lambda _: True)


def _master_keys_match(runtime: Runtime) -> bool:
    def check(session: Session) -> bool:
        with suppress(UnknownMasterKey):
            key_checks.require_matching(session, runtime.keyring)
            return True
        return False

    return _in_database(runtime, check)


def _queue_is_shared(runtime: Runtime) -> bool:
    return _in_database(runtime, hosts.shares_queue_server)


def _clock_is_right(_: Runtime) -> bool:
    return abs(clock.offset()) <= _CLOCK_TOLERANCE


def _storage_is_own(runtime: Runtime) -> bool:
    try:
        marker = runtime.storage.marker()
    except ServiceUnavailable:
        return False

    def check(session: Session) -> bool:
        row = deployment.recorded(session)
        return marker == (row.id if row and row.marked_at else None)

    return _in_database(runtime, check)


def _disk_has_space(runtime: Runtime) -> bool:
    settings = runtime.settings
    try:
        for folder in {settings.data_dir, storage_folder(settings) or settings.data_dir}:
            require_space(folder, 0, settings.min_free_bytes)
    except (DiskFull, OSError):
        return False
    return True


PARTS = (
    ServicePart(
        "database",
        "Database",
        "The database does not answer",
        _database_is_ready,
        is_vital=True,
        is_of_host=True,
    ),
    ServicePart(
        "masterKeys",
        "Master keys",
        "The master keys are not those of the database",
        _master_keys_match,
        is_of_host=True,
    ),
    ServicePart(
        "queue",
        "Queue server",
        "The queue does not answer",
        lambda runtime: not runtime.doorbell.configured or runtime.doorbell.answers,
    ),
    ServicePart(
        "sharedQueue",
        "Queue server of all hosts",
        "This web host has another queue server than the others",
        _queue_is_shared,
        is_of_host=True,
    ),
    ServicePart(
        "worker",
        "Worker",
        "The worker does not answer",
        lambda runtime: hosts.is_running(runtime.db, hosts.WORKER),
        is_late=True,
    ),
    ServicePart(
        "clock",
        "Clock",
        "The clock is more than 5 seconds off the database's",
        _clock_is_right,
        is_of_host=True,
    ),
    ServicePart("disk", "Disk space", "The disk is full: nothing more is stored", _disk_has_space),
    # The last one: those after it would wait for a storage that is silent.
    ServicePart(
        "storage", "Storage", "The storage does not answer, or is another's", _storage_is_own
    ),
)
# With the part that /health leaves out.
ALL = (
    *PARTS,
    ServicePart(
        "sender",
        "Sender of webhooks",
        "The sender of webhooks does not answer",
        lambda runtime: hosts.is_running(runtime.db, hosts.SENDER),
    ),
)
