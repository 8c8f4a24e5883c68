"""Table of engagements."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.counters import Counted
from app.core.database.session import UtcDateTime
from app.engagements.enums import EngagementStatus


class Engagement(Counted):
    __tablename__ = "engagements"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]
    type: Mapped[str]
    status: Mapped[str] = mapped_column(default=EngagementStatus.ACTIVE)
    evaluation_count: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    version: Mapped[int] = mapped_column(default=1)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy reads it so
