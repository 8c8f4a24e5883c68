"""Duties that one process of all hosts has at a time, such as purges."""

import time
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Database, Table, UtcDateTime
from app.core.database.upserts import upsert_into
from app.core.errors import ServiceUnavailable
from app.core.process import owner

# The duty whose holder runs the periodic tasks and reports the figures of the database.
TASKS = "tasks"
_HELD_FOR = timedelta(seconds=15)
_RENEW_EVERY_S = 5.0
# A keeper that cannot renew stops before another may begin.
_SURE_FOR_S = 12.0


class Keeper(Table):
    """A duty, the process that has it, and until when."""

    __tablename__ = "keepers"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    until: Mapped[datetime] = mapped_column(UtcDateTime)


class Duty:
    """A duty that this process takes when no other has it, and renews while it is asked for.

    With SQLite there is one host, which has every duty.
    """

    def __init__(self, db: Database, name: str, *, is_allowed: bool) -> None:
        """Name the duty.

        Args:
            is_allowed: whether this host may have it.
        """
        self._db = db
        self._name = name
        self._is_allowed = is_allowed
        self._renew_at = 0.0
        self._sure_until = 0.0

    def is_mine(self) -> bool:
        """Take or renew the duty where that is due; whether this process has it."""
        if not self._is_allowed or self._db.engine.dialect.name == "sqlite":
            return self._is_allowed
        now = time.monotonic()
        if now >= self._renew_at:
            self._renew_at = now + _RENEW_EVERY_S
            with suppress(ServiceUnavailable):
                with self._db.writing() as session:
                    is_taken = self._take(session)
                self._sure_until = now + _SURE_FOR_S if is_taken else 0.0
        return time.monotonic() < self._sure_until

    def give_up(self) -> None:
        """Let another process take the duty at once."""
        if self._sure_until:
            with suppress(ServiceUnavailable), self._db.writing() as session:
                mine = (Keeper.name == self._name) & (Keeper.holder == owner.this_process())
                session.execute(update(Keeper).where(mine).values(until=utc_now()))
        self._sure_until, self._renew_at = 0.0, float("inf")

    def _take(self, session: Session) -> bool:
        me, now = owner.this_process(), utc_now()
        values = {"holder": me, "until": now + _HELD_FOR}
        holder = session.scalar(select(Keeper.holder).where(Keeper.name == self._name))
        free = or_(Keeper.holder == me, Keeper.until <= now)
        if holder is not None and owner.is_dead(holder):
            free = or_(free, Keeper.holder == holder)
        taken = upsert_into(session, Keeper).values(name=self._name, **values)
        taken = taken.on_conflict_do_update(index_elements=["name"], set_=values, where=free)
        return session.scalar(taken.returning(Keeper.name)) is not None


def is_of_another_host(session: Session, name: str) -> bool:
    """Whether a process of another host has this duty now."""
    held = select(Keeper.holder).where(Keeper.name == name, Keeper.until > utc_now())
    holder = session.scalar(held)
    return holder is not None and owner.is_elsewhere(holder)
