"""Storage marker: a start refuses the storage of another deployment, or one that is not mounted."""

from app.core.clock import utc_now
from app.core.database import deployment
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.storage.objects import MARKER, ForeignStorage, Storage, StorageAway


def require_own(db: Database, storage: Storage) -> None:
    """Compare the marker of the storage with the deployment's id; the first start writes it.

    A storage that does not answer is left to /health.

    Raises:
        ForeignStorage: the storage has the marker of another deployment, or none.
    """
    # Before the storage, which another host may be marking at this moment.
    with db.reading() as session:
        recorded = deployment.recorded(session)
        deployment_id = recorded.id if recorded is not None and recorded.marked_at else None
    try:
        if deployment_id is None:
            deployment_id, marker = _mark(db, storage)
        else:
            marker = storage.marker()
    except StorageAway:
        return
    if marker != deployment_id:
        raise ForeignStorage(_difference(deployment_id, marker))


def adopt(db: Database, storage: Storage) -> None:
    """Take over the marker of the storage, which belongs to the database that was just restored.

    A storage that does not answer is compared with the restored marker at the next start.
    """
    try:
        marker = storage.marker()
    except StorageAway:
        return
    with db.writing() as session:
        deployment.replace(session, marker)


def _mark(db: Database, storage: Storage) -> tuple[str, str | None]:
    """Write the marker unless another host has done so; return the id and the marker."""
    with db.writing() as session:
        deployment.create(session)
    # The row is locked while the storage is asked, once in the life of a deployment: two hosts that
    # start at the same time with a folder each must not both pass.
    with db.writing() as session:
        row = deployment.recorded(session, lock=True)
        if row is None:
            raise ServiceUnavailable("The database is being restored; try again.", retry_after_s=5)
        marker = storage.marker()
        if marker is None and row.marked_at is None:
            storage.write_marker(row.id)
            marker = row.id
        if marker == row.id:
            row.marked_at = row.marked_at or utc_now()
        return row.id, marker


def _difference(deployment_id: str, marker: str | None) -> str:
    has = f"has the marker {marker} of another deployment" if marker else "has no marker"
    return (
        f"the storage of recordings {has}, the database expects {deployment_id}: is CQE_STORAGE_URL "
        "that of all hosts, and is the folder mounted? If this storage is the right one, write "
        f"{deployment_id} into its file {MARKER}"
    )
