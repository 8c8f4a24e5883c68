"""Tables of usage."""

from datetime import datetime

from sqlalchemy import BigInteger, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class UsageRecord(Table):
    """Usage of one metric on one UTC day, by one key in one operation.

    `quantity` is a whole number of calls, deliveries or bytes. Summary, details and usage by key
    all sum this column, so that they agree exactly.

    A storage record contains how much the day raised the peak of its billing period. The sum over a
    period is therefore the peak, which is what a plan includes. (Daily peaks would add up to
    gigabyte-days: 10 GB stored for a month would be shown as 300.)

    A quantity can be 0 or negative for a moment: a failed call is uncounted in the store that is in
    use, which may be flushed earlier than the store that counted it. Such records are neither
    shown nor summed.
    """

    __tablename__ = "usage_records"
    __table_args__ = (
        Index("uq_usage_records_day", "date", "type", "key_id", "operation", unique=True),
        # Covers sums, so that they never read the rows.
        Index("ix_usage_records_sums", "type", "date", "key_id", "quantity"),
        Index("ix_usage_records_key", "key_id", "date"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    date: Mapped[str]
    type: Mapped[str]  # a UsageMetric
    key_id: Mapped[str]  # empty for webhooks and storage
    operation: Mapped[str]  # name of the endpoint function, id of the subscription, or `storage`
    quantity: Mapped[int] = mapped_column(BigInteger)


class CountedBatch(Table):
    """The id of a batch of call counts that is in the records, so that none is added twice.

    `source` is the store that the batch came from. A store has one unfinished batch at a time.
    """

    __tablename__ = "usage_batches"

    id: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str]
    applied_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


class QuotaWarning(Table):
    """A quota warning that was published, at most one for each metric and billing period."""

    __tablename__ = "usage_warnings"

    billing_period: Mapped[str] = mapped_column(primary_key=True)
    metric: Mapped[str] = mapped_column(primary_key=True)
    published_at: Mapped[datetime] = mapped_column(UtcDateTime)


class MeteredKey(Table):
    __tablename__ = "usage_keys"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
