"""Keepers: processes that do the work that only one host may do at a time, such as purges."""

import time
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import upsert_into
from app.core.errors import ServiceUnavailable
from app.core.process import owner


class KeeperLease(Table):
    """A keeper's work, the process that does it, and the end of its lease."""

    __tablename__ = "keepers"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    until: Mapped[datetime] = mapped_column(UtcDateTime)


class Keeper:
    """Makes this process the keeper when no other is, and renews its lease.

    With SQLite there is one host, whose processes need no lease.
    """

    def __init__(
        self, db: Database, name: str, *, is_allowed: bool = True, lease_s: float = 15.0
    ) -> None:
        """Create the keeper of one kind of work.

        Args:
            is_allowed: whether this host may do it.
            lease_s: how long no other may do it after this process was last seen.
        """
        self._db = db
        self._name = name
        self._is_allowed = is_allowed
        self._lease_s = lease_s
        self._renew_at = 0.0
        self._sure_until = 0.0

    def take_or_renew(self) -> bool:
        """Take or renew the lease when that is due; return whether this process has it."""
        if not self._is_allowed or self._db.engine.dialect.name == "sqlite":
            return self._is_allowed
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + self._lease_s / 3
            with suppress(ServiceUnavailable, SQLAlchemyError):  # such as a read-only database
                with self._db.writing() as session:
                    is_taken = self._take(session)
                # A keeper that cannot renew stops before another may begin.
                self._sure_until = now + 0.8 * self._lease_s if is_taken else 0.0
        return time.monotonic() < self._sure_until

    def step_down(self) -> None:
        """Let another process be the keeper at once."""
        if self._sure_until:
            with suppress(ServiceUnavailable), self._db.writing() as session:
                mine = (KeeperLease.name == self._name) & (
                    KeeperLease.holder == owner.this_process()
                )
                session.execute(update(KeeperLease).where(mine).values(until=utc_now()))
        self._sure_until, self._renew_at = 0.0, float("inf")

    def _take(self, session: Session) -> bool:
        me, now = owner.this_process(), utc_now()
        values = {"holder": me, "until": now + timedelta(seconds=self._lease_s)}
        holder = session.scalar(select(KeeperLease.holder).where(KeeperLease.name == self._name))
        free = or_(KeeperLease.holder == me, KeeperLease.until <= now)
        if holder is not None and owner.is_dead(holder):
            free = or_(free, KeeperLease.holder == holder)
        insert = upsert_into(session, KeeperLease).values(name=self._name, **values)
        upsert = insert.on_conflict_do_update(index_elements=["name"], set_=values, where=free)
        return session.scalar(upsert.returning(KeeperLease.name)) is not None
