"""Parts that the service needs: whether each works now."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.database import deployment, key_checks
from app.core.database.schema_revision import is_usable
from app.core.errors import ServiceUnavailable
from app.core.process import heartbeat
from app.core.runtime import Runtime
from app.core.secrets.encryption import UnknownMasterKey


@dataclass(frozen=True, slots=True)
class ServicePart:
    """One part: its name in /health, and what an alert says when it fails.

    Without a vital part the service answers no request.
    """

    name: str
    alert: str
    works: Callable[[Runtime], bool]
    is_vital: bool = False


def failing(runtime: Runtime) -> list[ServicePart]:
    """Return the parts that do not work."""
    return [part for part in PARTS if not part.works(runtime)]


def _database_is_ready(runtime: Runtime) -> bool:
    try:
        with runtime.db.reading() as session:
            return is_usable(session)
    except ServiceUnavailable:
        return False


def _master_keys_match(runtime: Runtime) -> bool:
    try:
        with runtime.db.reading() as session:
            if not is_usable(session):
                return False
            key_checks.require_matching(session, runtime.keyring)
    except (ServiceUnavailable, UnknownMasterKey):
        return False
    return True


def _storage_is_own(runtime: Runtime) -> bool:
    try:
        marker = runtime.storage.marker()
        with runtime.db.reading() as session:
            row = deployment.recorded(session)
    except ServiceUnavailable:
        return False
    return marker == (row.id if row and row.marked_at else None)


PARTS = (
    ServicePart("database", "The database does not answer", _database_is_ready, is_vital=True),
    ServicePart("masterKeys", "The master keys are not those of the database", _master_keys_match),
    ServicePart(
        "queue",
        "The queue does not answer",
        lambda runtime: not runtime.doorbell.configured or runtime.doorbell.answers,
    ),
    ServicePart(
        "worker",
        "The worker does not answer",
        lambda runtime: heartbeat.is_alive(runtime.settings.data_dir),
    ),
    ServicePart("storage", "The storage does not answer, or is another's", _storage_is_own),
)
# With the part that /health leaves out.
ALL = (
    *PARTS,
    ServicePart(
        "sender",
        "The sender of webhooks does not answer",
        lambda runtime: heartbeat.is_alive(runtime.settings.data_dir, heartbeat.SENDER),
    ),
)
