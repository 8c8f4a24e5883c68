"""The tables of metered use."""

from datetime import datetime

from sqlalchemy import BigInteger, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class UsageRecord(Table):
    """What was used on one UTC day by one key in one operation (contract B13).

    `quantity` is a whole number of the metric's smallest unit: calls, deliveries, bytes. Summary,
    details and usage by key all sum this column, so they agree to the last byte.

    A storage record holds by how much that day raised the peak of its billing period. The sum over
    a period is then the most that lay there at any moment, which is what a plan includes; the
    records show on which days it grew, and their running sum is the peak up to each day. (Plain
    daily peaks would add up to gigabyte-days, and 10 GB kept for a month would read as 300.)

    A quantity may stand at or below 0 for a moment: a call that failed is taken back in the store
    that is in use, which may be another, and moved sooner, than the one that counted it. Such
    records are not shown and not summed.
    """

    __tablename__ = "usage_records"
    __table_args__ = (
        Index("uq_usage_records_day", "date", "type", "key_id", "operation", unique=True),
        # Holds all that sums need, so that they never read the rows.
        Index("ix_usage_records_sums", "type", "date", "key_id", "quantity"),
        Index("ix_usage_records_key", "key_id", "date"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    date: Mapped[str]
    type: Mapped[str]  # a Metric
    key_id: Mapped[str]  # empty where no key is behind it
    operation: Mapped[str]  # the endpoint's function, the subscription sent to, or `storage`
    quantity: Mapped[int] = mapped_column(BigInteger)


class CountedBatch(Table):
    """A batch of call counts that the records hold already: none is applied twice.

    `source` is the store that handed it out. A store hands out one batch at a time, so that only
    the newest of each may still lie there.
    """

    __tablename__ = "usage_batches"

    id: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str]
    applied_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class QuotaWarning(Table):
    """That the warning of a metric was published for a billing period: once, whatever happens."""

    __tablename__ = "usage_warnings"

    billing_period: Mapped[str] = mapped_column(primary_key=True)
    metric: Mapped[str] = mapped_column(primary_key=True)
    published_at: Mapped[datetime] = mapped_column(UtcDateTime)


class MeteredKey(Table):
    """What usage knows of an API key: its name and when it was last used."""

    __tablename__ = "usage_keys"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
