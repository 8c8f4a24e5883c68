"""The tables of metered use."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Table, UtcDateTime


class UsageRecord(Table):
    """What was used on one UTC day by one key in one operation (contract B13).

    `type` is calls, webhooks or storage_gb. `key_id` is empty where no key is behind it;
    `operation` is the endpoint's operation, or the subscription that was sent to.
    """

    __tablename__ = "usage_records"
    __table_args__ = (
        Index("uq_usage_records_day", "date", "type", "key_id", "operation", unique=True),
        Index("ix_usage_records_key", "key_id", "date"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    date: Mapped[str]
    type: Mapped[str]
    key_id: Mapped[str]
    operation: Mapped[str]
    quantity: Mapped[float]


class CountedBatch(Table):
    """A batch of call counts that the records hold already: none is applied twice."""

    __tablename__ = "usage_batches"

    id: Mapped[str] = mapped_column(primary_key=True)
    applied_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class MeteredKey(Table):
    """What usage knows of an API key: its name and when it was last used."""

    __tablename__ = "usage_keys"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
