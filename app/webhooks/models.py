"""Tables of webhooks: subscriptions, deliveries and attempts, and the mail server."""

from datetime import datetime, timedelta

from sqlalchemy import JSON, ForeignKey, Index, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime, partial_index
from app.webhooks.enums import TargetKind, Trigger

_FEWEST_FAILURES = 2


class Subscription(Table):
    """A receiver and the event types that it subscribes to.

    Targets of messages are receivers of another kind: they subscribe to nothing, and are sent what
    names them. Of Slack and Teams, `secret` is the whole URL, and `url` its host; of e-mail, `url` is
    the address.

    `previous_secret` signs as well until `previous_secret_expires_at`. `failing_since` is the end of
    the first delivery that failed, after all its attempts, since the last success, and
    `failed_in_streak` the number of them. `deactivated_at` is when that switched it off.
    """

    __tablename__ = "webhook_subscriptions"
    __table_args__ = (
        Index("ix_webhook_subscriptions_created", "created_at", "id"),
        # The sender lists these with each tick; deleted ones stay as long as their history.
        partial_index("ix_webhook_subscriptions_not_deleted", "id", where="deleted_at IS NULL"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(default=TargetKind.WEBHOOK)
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

    def clear_failures(self) -> None:
        self.failing_since = None
        self.failed_in_streak = 0

    def add_failure(self, ended_at: datetime) -> None:
        self.failing_since = self.failing_since or ended_at
        self.failed_in_streak += 1

    def has_failed_for(self, limit: timedelta, *, now: datetime) -> bool:
        """Return whether every delivery has failed for so long; a single one is not enough."""
        if self.failing_since is None or self.failed_in_streak < _FEWEST_FAILURES:
            return False
        return now - self.failing_since >= limit

    def has_ended_for(self, trigger: str) -> bool:
        """Return whether deliveries of this trigger are never sent again."""
        if self.deleted_at is not None:
            return True
        return self.deactivated_at is not None and trigger != Trigger.TEST


class MailServer(Table):
    """The server that sends e-mail, one row at most; `password` is encrypted."""

    __tablename__ = "mail_servers"

    id: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str]
    port: Mapped[int]
    security: Mapped[str]
    user: Mapped[str | None]
    password: Mapped[str | None]
    sender: Mapped[str]
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Delivery(Table):
    """One event for one subscription; `round` is 0, and one more for each redelivery.

    `attempts` counts attempts that ended or are running; `interruptions` those that a crash cut
    off, which are not attempts. The lease names the process that sends it, with a token that is
    new for each lease.
    """

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("uq_webhook_deliveries_round", "event_id", "subscription_id", "round", unique=True),
        partial_index(
            "ix_webhook_deliveries_due", "subscription_id", "due_at", where="state = 'pending'"
        ),
        # An inactive subscription may have many pending rows; only its tests are sent.
        partial_index(
            "ix_webhook_deliveries_due_tests",
            "subscription_id",
            "due_at",
            where="state = 'pending' AND trigger = 'test'",
        ),
        partial_index("ix_webhook_deliveries_leased", "lease_owner", where="state = 'delivering'"),
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
    """One request that ended, with the answer or the reason for its absence."""

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


# Literals, not parameters: SQLite uses a partial index only for a literal.
PENDING = Delivery.state == literal_column("'pending'")
DELIVERING = Delivery.state == literal_column("'delivering'")
