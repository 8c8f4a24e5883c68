"""Tables of call centres and executives."""

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.upserts import ExternallyKeyed
from app.directory.enums import ExecutiveKind


class CallCenter(ExternallyKeyed):
    __tablename__ = "call_centers"
    __table_args__ = (Index("ix_call_centers_name", "name", "id"),)

    name: Mapped[str]
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)


class Executive(ExternallyKeyed):
    """A person or a bot that handles contacts, and the call centre."""

    __tablename__ = "executives"
    __table_args__ = (Index("ix_executives_name", "name", "id"),)

    name: Mapped[str]
    kind: Mapped[str] = mapped_column(default=ExecutiveKind.HUMAN)
    call_center_id: Mapped[str | None] = mapped_column(ForeignKey("call_centers.id"), index=True)
    email: Mapped[str | None]
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
