"""The tables of webhooks: who listens, what is owed to whom, and what was tried."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import JSON, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class DeliveryState(StrEnum):
    """Where a delivery stands."""

    PENDING = "pending"
    DELIVERING = "delivering"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Trigger(StrEnum):
    """Why a delivery exists."""

    EVENT = "event"
    TEST = "test"
    MANUAL = "manual"


class Subscription(Table):
    """A receiver and the event types that it wants.

    `previous_secret` may sign as well until `previous_secret_expires_at`. `failing_since` and
    `failed_in_streak` are the state of the seven-day rule; `deactivated_at` is set when it struck.
    """

    __tablename__ = "webhook_subscriptions"
    __table_args__ = (Index("ix_webhook_subscriptions_created", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    url: Mapped[str]
    events: Mapped[list[str]] = mapped_column(JSON)
    description: Mapped[str | None]
    active: Mapped[bool] = mapped_column(default=True)
    secret: Mapped[str]
    previous_secret: Mapped[str | None]
    previous_secret_expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failing_since: Mapped[datetime | None] = mapped_column(UtcDateTime)
    failed_in_streak: Mapped[int] = mapped_column(default=0)
    deactivated_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    deleted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    version: Mapped[int] = mapped_column(default=1)

    def is_over(self, trigger: str) -> bool:
        """Whether nothing of this kind is sent any more, not even later."""
        if self.deleted_at is not None:
            return True
        return self.deactivated_at is not None and trigger != Trigger.TEST


class Delivery(Table):
    """One event owed to one subscription; `round` is 0 and one more for each time it is sent anew.

    `attempts` counts those that ended or run; `interruptions` those that a crash cut off, which
    don't count. The lease says which process sends it, with a token that only the present holder
    knows.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("uq_webhook_deliveries_round", "event_id", "subscription_id", "round", unique=True),
        Index(
            "ix_webhook_deliveries_due",
            "subscription_id",
            "due_at",
            sqlite_where=text("state = 'pending'"),
            postgresql_where=text("state = 'pending'"),
        ),
        # An inactive subscription may hold many pending rows; only its tests are sent.
        Index(
            "ix_webhook_deliveries_due_tests",
            "subscription_id",
            "due_at",
            sqlite_where=text("state = 'pending' AND trigger = 'test'"),
            postgresql_where=text("state = 'pending' AND trigger = 'test'"),
        ),
        Index(
            "ix_webhook_deliveries_leased",
            "lease_owner",
            sqlite_where=text("state = 'delivering'"),
            postgresql_where=text("state = 'delivering'"),
        ),
        Index("ix_webhook_deliveries_history", "subscription_id", "created_at", "id"),
        Index("ix_webhook_deliveries_finished", "finished_at"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(ForeignKey("events.id"))
    subscription_id: Mapped[str] = mapped_column(ForeignKey("webhook_subscriptions.id"))
    event_type: Mapped[str]
    round: Mapped[int] = mapped_column(default=0)
    trigger: Mapped[str]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    max_attempts: Mapped[int] = mapped_column(default=3)
    interruptions: Mapped[int] = mapped_column(default=0)
    metered: Mapped[bool] = mapped_column(default=False)
    due_at: Mapped[datetime] = mapped_column(UtcDateTime)
    lease_token: Mapped[str | None]
    lease_owner: Mapped[str | None]
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class Attempt(Table):
    """One request that ended: an answer, or a name for what was in its way."""

    __tablename__ = "webhook_attempts"

    delivery_id: Mapped[str] = mapped_column(
        ForeignKey("webhook_deliveries.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime)
    duration_ms: Mapped[int]
    url: Mapped[str]
    ip: Mapped[str | None]
    status_code: Mapped[int | None]
    outcome: Mapped[str]
    error: Mapped[str | None]
    response_excerpt: Mapped[str]
    truncated: Mapped[bool]
