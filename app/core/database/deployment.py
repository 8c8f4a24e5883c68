"""Deployment: the id by which a database and its storage of recordings recognise each other."""

from datetime import datetime
from uuid import uuid4

from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.database.upserts import insert_missing


class Deployment(Table):
    """The only row: the id of this deployment, and since when the storage has it as its marker."""

    __tablename__ = "deployments"

    one: Mapped[bool] = mapped_column(primary_key=True, default=True)
    id: Mapped[str]
    marked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


def recorded(session: Session, *, lock: bool = False) -> Deployment | None:
    """Return the row; None before the first start."""
    return session.scalar(select(Deployment).with_for_update() if lock else select(Deployment))


def create(session: Session) -> None:
    """Create the row unless it exists."""
    insert_missing(session, Deployment, one=True, id=f"dep_{uuid4().hex}")


def lock(session: Session) -> None:
    """Keep other hosts from what a first start does once, until this transaction ends."""
    create(session)
    recorded(session, lock=True)


def replace(session: Session, deployment_id: str | None) -> None:
    """Take the id of a storage that this database belongs to from now on; None for a new one."""
    session.execute(delete(Deployment))
    if deployment_id:
        session.add(Deployment(one=True, id=deployment_id, marked_at=utc_now()))
