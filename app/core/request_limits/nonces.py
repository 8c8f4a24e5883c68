"""Nonces in the database, where several hosts share it: one host's spent nonce is not another's."""

from datetime import datetime, timedelta

from sqlalchemy import delete, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import upsert_into
from app.core.request_limits.values import Visit


class SpentNonce(Table):
    """A nonce that was used, and until when its request could be repeated."""

    __tablename__ = "spent_nonces"

    name: Mapped[str] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class DatabaseNonces:
    """Nonces in a PostgreSQL database; a Redis that one host cannot reach does not matter."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def spend(self, visit: Visit) -> bool:
        """Spend the nonce of a visit; return whether it was new."""
        with self._db.writing() as session:
            # A power failure may forget the last nonces; waiting for the disk would cost each request.
            session.execute(text("SET LOCAL synchronous_commit = off"))
            expires_at = visit.now + timedelta(seconds=visit.nonce_life_s)
            spent = upsert_into(session, SpentNonce).values(name=visit.nonce, expires_at=expires_at)
            spent = spent.on_conflict_do_update(
                index_elements=["name"],
                set_={"expires_at": expires_at},
                where=SpentNonce.expires_at < visit.now,
            )
            return session.scalar(spent.returning(SpentNonce.name)) is not None

    def purge(self) -> None:
        """Delete the nonces whose requests are too old by now."""
        with self._db.writing() as session:
            session.execute(delete(SpentNonce).where(SpentNonce.expires_at < utc_now()))
