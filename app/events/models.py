"""Table of events."""

from datetime import datetime

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime
from app.core.process.traces import traceparent


class Event(Table):
    """A published event; `body` is the envelope, byte for byte as it is sent and signed.

    `traceparent` names the trace of what has published it.
    """

    __tablename__ = "events"

    id: Mapped[str] = mapped_column(primary_key=True)
    type: Mapped[str]
    occurred_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    body: Mapped[bytes] = mapped_column(LargeBinary)
    traceparent: Mapped[str | None] = mapped_column(default=traceparent)
