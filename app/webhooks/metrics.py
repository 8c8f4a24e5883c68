"""What Prometheus learns of webhooks: counted in the sender, or read from the tables when it asks.

Every figure is right whatever the number of processes: what many of them write is read from the
database, and only a sender attempts.
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
from app.core.exchange import Outcome
from app.webhooks.models import Delivery, Subscription
from app.webhooks.results import Result

logger = logging.getLogger(__name__)

_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_PENDING = Delivery.state == literal_column("'pending'")
_OF_SUBSCRIPTION = Delivery.subscription_id == Subscription.id
_PENDING_OF = select(func.count()).where(_OF_SUBSCRIPTION, _PENDING)
_DUE_OF = select(func.min(Delivery.due_at)).where(_OF_SUBSCRIPTION, _PENDING)
_STANDINGS = ("healthy", "failing", "inactive", "deactivated")
_SUBSCRIPTIONS = select(
    case(
        (Subscription.deactivated_at.is_not(None), "deactivated"),
        (~Subscription.active, "inactive"),
        (Subscription.failing_since.is_not(None), "failing"),
        else_="healthy",
    ).label("standing"),
    Subscription.active,
    _PENDING_OF.correlate(Subscription).scalar_subquery().label("pending"),
    _DUE_OF.correlate(Subscription).scalar_subquery().label("due_at"),
).where(Subscription.deleted_at.is_(None))


class SenderMetrics:
    """The figures of one sender process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._attempts = Counter(
            "cqe_webhook_attempts",
            "Attempts that ended and were recorded, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in Outcome:
            self._attempts.labels(outcome.value)
        self._durations = Histogram(
            "cqe_webhook_attempt_duration_seconds",
            "Time from the start of an attempt to its verdict.",
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        self._reclaimed = Counter(
            "cqe_webhook_reclaimed",
            "Deliveries taken over from a sender that was killed or lost its lease.",
            registry=self.registry,
        )
        self._in_flight = Gauge(
            "cqe_webhook_in_flight", "Attempts on their way now.", registry=self.registry
        )

    def watch(self, db: Database, in_flight: Callable[[], int]) -> None:
        """Read these whenever the figures are asked for."""
        self._in_flight.set_function(in_flight)
        self.registry.register(_Backlog(db))

    def note(self, recorded: Sequence[Result]) -> None:
        """Count attempts whose end is committed."""
        for each in recorded:
            self._attempts.labels(each.reply.outcome.value).inc()
            self._durations.observe(each.reply.duration_ms / 1000)

    def note_reclaimed(self, count: int) -> None:
        """Count deliveries taken over."""
        self._reclaimed.inc(count)


class _Backlog(Collector):
    """What waits, read from the partial indexes; silent while the database is away."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def describe(self) -> list[Metric]:
        """Name nothing in advance, so that registering does not read the database."""
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
            "cqe_webhook_backlog", "Deliveries that wait, also for a later attempt."
        )
        pending.add_metric([], sum(row.pending for row in rows if row.active))
        yield pending
        held = GaugeMetricFamily(
            "cqe_webhook_held", "Deliveries that wait for an inactive subscription."
        )
        held.add_metric([], sum(row.pending for row in rows if not row.active))
        yield held
        yield _oldest([row.due_at for row in rows if row.active], utc_now())
        standings = GaugeMetricFamily(
            "cqe_webhook_subscriptions", "Subscriptions, by how they do.", labels=["standing"]
        )
        for standing in _STANDINGS:
            standings.add_metric([standing], sum(row.standing == standing for row in rows))
        yield standings


def _oldest(due: Sequence[datetime | None], now: datetime) -> Metric:
    ages = [(now - each).total_seconds() for each in due if each is not None]
    family = GaugeMetricFamily(
        "cqe_webhook_oldest_due_age_seconds", "How long the longest waiting delivery is overdue."
    )
    family.add_metric([], max([0.0, *ages]))
    return family
