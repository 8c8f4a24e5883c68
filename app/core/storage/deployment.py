"""Deployment: the id by which a database and its storage of recordings recognise each other."""

from datetime import datetime
from uuid import uuid4

from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import insert_missing
from app.core.errors import ServiceUnavailable
from app.core.storage.objects import MARKER, ForeignStorage, Storage, StorageAway, StorageMissing


class Deployment(Table):
    """The only row: the id of this deployment, and since when the storage has it as its marker."""

    __tablename__ = "deployments"

    one: Mapped[bool] = mapped_column(primary_key=True, default=True)
    id: Mapped[str]
    marked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


def recorded(session: Session, *, lock: bool = False) -> Deployment | None:
    """Return the row; None before the first start."""
    return session.scalar(select(Deployment).with_for_update() if lock else select(Deployment))


def lock(session: Session) -> None:
    """Keep other hosts from what a first start does once, until this transaction ends."""
    _create(session)
    recorded(session, lock=True)


def require_own(db: Database, storage: Storage) -> None:
    """Compare the marker of the storage with the deployment's id; the first start writes it.

    A storage that does not answer is left to /health.

    Raises:
        ForeignStorage: the storage is missing, or has the marker of another deployment, or none.
    """
    # Before the storage, which another host may be marking at this moment.
    with db.reading() as session:
        row = recorded(session)
        marked_id = row.id if row is not None and row.marked_at else None
    try:
        deployment_id, marker = (marked_id, storage.marker()) if marked_id else _mark(db, storage)
    except StorageMissing as error:
        raise ForeignStorage(error.message) from error
    except StorageAway:
        return
    if marker != deployment_id:
        is_new = marked_id is None and marker is not None
        raise ForeignStorage(_difference(deployment_id, marker, is_new=is_new))


def adopt(db: Database, storage: Storage) -> None:
    """Take over the marker of the storage, which belongs to the database that was just restored.

    A storage that does not answer is compared with the restored marker at the next start.
    """
    try:
        marker = storage.marker()
    except StorageAway:
        return
    with db.writing() as session:
        session.execute(delete(Deployment))
        if marker:
            session.add(Deployment(one=True, id=marker, marked_at=utc_now()))


def _create(session: Session) -> None:
    insert_missing(session, Deployment, one=True, id=f"dep_{uuid4().hex}")


def _mark(db: Database, storage: Storage) -> tuple[str, str | None]:
    """Write the marker unless another host has done so; return the id and the marker."""
    with db.writing() as session:
        _create(session)
    # The row is locked while the storage is asked, once in the life of a deployment: two hosts that
    # start at the same time with a folder each must not both pass.
    with db.writing() as session:
        row = recorded(session, lock=True)
        if row is None:
            raise ServiceUnavailable("The database is being restored; try again.", retry_after_s=5)
        marker = storage.marker()
        if marker is None and row.marked_at is None:
            storage.write_marker(row.id)
            marker = row.id
        if marker == row.id:
            row.marked_at = row.marked_at or utc_now()
        return row.id, marker


def _difference(deployment_id: str, marker: str | None, *, is_new: bool) -> str:
    if is_new:
        return (
            f"the database is new, but the storage of recordings has the marker {marker} of another "
            "deployment: restore a backup of that deployment (docs/backup.md), or set the "
            "CQE_DATABASE_URL or the CQE_STORAGE_URL that belongs to it"
        )
    has = f"has the marker {marker} of another deployment" if marker else "has no marker"
    return (
        f"the storage of recordings {has}, the database expects {deployment_id}: is CQE_STORAGE_URL "
        "that of all hosts, and is the folder mounted? If this storage is the right one, write "
        f"{deployment_id} into its file {MARKER}"
    )
