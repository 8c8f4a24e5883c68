"""Prometheus metrics of webhooks: counted in the sender, or read from the tables when scraped.

They hold for any number of processes: only senders attempt deliveries, and what many processes
write is read from the database.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import case, func, literal_column, select

from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import AppError
from app.core.outgoing_http.reply import AttemptOutcome
from app.webhooks.models import Delivery, Subscription
from app.webhooks.sender.results import AttemptResult

logger = logging.getLogger(__name__)

_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_PENDING = Delivery.state == literal_column("'pending'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id
_PENDING_COUNT = select(func.count()).where(_OF_SUBSCRIPTION, _PENDING)
_OLDEST_DUE = select(func.min(Delivery.due_at)).where(_OF_SUBSCRIPTION, _PENDING)
_STATUSES = ("healthy", "failing", "inactive", "deactivated")
_SUBSCRIPTIONS = select(
    case(
        (Subscription.deactivated_at.is_not(None), "deactivated"),
        (~Subscription.active, "inactive"),
        (Subscription.failing_since.is_not(None), "failing"),
        else_="healthy",
    ).label("status"),
    Subscription.active,
    _PENDING_COUNT.correlate(Subscription).scalar_subquery().label("pending"),
    _OLDEST_DUE.correlate(Subscription).scalar_subquery().label("due_at"),
).where(Subscription.deleted_at.is_(None))


class SenderMetrics:
    """The metrics of one sender process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._attempts = Counter(
            "cqe_webhook_attempts",
            "Recorded attempts, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in AttemptOutcome:
            self._attempts.labels(outcome.value)
        self._durations = Histogram(
            "cqe_webhook_attempt_duration_seconds",
            "Time from the start of an attempt to its outcome.",
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        self._reclaimed = Counter(
            "cqe_webhook_reclaimed",
            "Deliveries reclaimed from a sender that was killed or lost its lease.",
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "cqe_webhook_in_flight", "Attempts in flight.", registry=self.registry
        )

    def watch(self, db: Database, in_flight: Callable[[], int]) -> None:
        """Read the backlog and the attempts in flight with each scrape."""
        self._in_flight.set_function(in_flight)
        self.registry.register(_Backlog(db))

    def count_attempts(self, recorded: Sequence[AttemptResult]) -> None:
        """Count attempts whose result is committed."""
        for result in recorded:
            self._attempts.labels(result.reply.outcome.value).inc()
            self._durations.observe(result.reply.duration_ms / 1000)

    def count_reclaimed(self, count: int) -> None:
        """Count reclaimed deliveries."""
        self._reclaimed.inc(count)


class _Backlog(Collector):
    """The pending deliveries, read by their partial index; left out while the database is away."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def describe(self) -> list[Metric]:
        """Name no metric in advance, so that registering does not read the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("cqe_database_up", "Whether the database answered this scrape.")
        try:
            with self._db.reading() as session:
                rows = session.execute(_SUBSCRIPTIONS).all()
        except AppError as error:
            logger.warning("metrics without the backlog: %s", error)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        pending = GaugeMetricFamily(
            "cqe_webhook_backlog", "Pending deliveries, those due later included."
        )
        pending.add_metric([], sum(row.pending for row in rows if row.active))
        yield pending
        held = GaugeMetricFamily(
            "cqe_webhook_held", "Pending deliveries of inactive subscriptions."
        )
        held.add_metric([], sum(row.pending for row in rows if not row.active))
        yield held
        yield _oldest_due([row.due_at for row in rows if row.active], utc_now())
        subscriptions = GaugeMetricFamily(
            "cqe_webhook_subscriptions", "Subscriptions, by status.", labels=["status"]
        )
        for status in _STATUSES:
            subscriptions.add_metric([status], sum(row.status == status for row in rows))
        yield subscriptions


def _oldest_due(due: Sequence[datetime | None], now: datetime) -> Metric:
    ages = [(now - due_at).total_seconds() for due_at in due if due_at is not None]
    family = GaugeMetricFamily(
        "cqe_webhook_oldest_due_age_seconds", "How long the oldest pending delivery has been due."
    )
    family.add_metric([], max([0.0, *ages]))
    return family
