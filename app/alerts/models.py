"""Tables of alerts: rules, the matches that they have to tell, and digests."""

from datetime import datetime

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.records import SetUp
from app.core.database.session import Table, UtcDateTime, partial_index


class AlertRule(SetUp):
    """A rule: what it waits for, of which conversations, and which targets it tells.

    `sent_at` is when it has sent its last message, and `checked_at` when a rule about a mean or the
    service was last tried; `is_firing` says whether it was true then.
    """

    __tablename__ = "alert_rules"

    trigger: Mapped[str]
    criterion: Mapped[str | None]
    below: Mapped[int | None]
    filters: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    target_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    with_words: Mapped[bool] = mapped_column(default=False)
    sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    checked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    is_firing: Mapped[bool] = mapped_column(default=False)


class AlertMatch(Table):
    """Something that a rule has to tell, once for each `subject`; `event_id` is the message that did."""

    __tablename__ = "alert_matches"
    __table_args__ = (
        Index("uq_alert_matches_subject", "rule_id", "subject", unique=True),
        Index("ix_alert_matches_at", "at"),
        Index("ix_alert_matches_source", "source_id"),
        partial_index("ix_alert_matches_waiting", "rule_id", "id", where="event_id IS NULL"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    rule_id: Mapped[str] = mapped_column(ForeignKey("alert_rules.id"))
    subject: Mapped[str]
    source_id: Mapped[str | None]
    evaluation_id: Mapped[str | None]
    text: Mapped[str]
    words: Mapped[str | None]
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    event_id: Mapped[str | None]


class Digest(SetUp):
    """A summary that one target gets at an hour of its day or its week, in its time zone."""

    __tablename__ = "digests"

    target_id: Mapped[str] = mapped_column(ForeignKey("webhook_subscriptions.id"))
    filters: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    every: Mapped[str]
    weekday: Mapped[int]
    hour: Mapped[int]
    timezone: Mapped[str]
    next_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    unsubscribed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
