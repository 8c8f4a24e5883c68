"""Collector of the metrics of the whole service: read at each scrape, not counted."""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from app.analytics.engine.parts import pending_count
from app.core import clock
from app.core.clock import utc_now
from app.core.errors import AppError, ServiceUnavailable
from app.core.hosts import WEB, Keeper, list_running
from app.core.process import owner
from app.core.runtime import Runtime
from app.system import backlog, last_backup
from app.webhooks.backlog import SUBSCRIPTION_STATUSES, SubscriptionBacklog, by_subscription

logger = logging.getLogger(__name__)

# Samples by their label value; a metric without a label has one sample under "".
_Samples: TypeAlias = dict[str, float]


class ServiceMetrics(Collector):
    """Asks the database, the queue server and the storage at every scrape."""

    def __init__(self, runtime: Runtime, reporter: Keeper) -> None:
        self._runtime = runtime
        self._reporter = reporter

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering makes no request."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield from self._of_this_host()
        try:
            is_reporter = self._reporter.take_or_renew()
            with self._runtime.db.reading() as session:
                read = [_host_info(session)]
                if is_reporter:
                    read += _of_database(session, utc_now())
        except AppError as error:
            logger.warning("metrics without those of the database: %s", error)
            read = []
        answered = float(bool(read))
        yield _gauge("cqe_database_up", "Whether the database answered this scrape.", answered)
        yield from read

    def _of_this_host(self) -> Iterator[Metric]:
        runtime = self._runtime
        yield _gauge(
            "cqe_clock_offset_seconds",
            "How far the database's clock is ahead of this host's.",
            clock.offset().total_seconds(),
        )
        yield _gauge(
            "cqe_storage_up", "Whether the storage answers.", float(_storage_answers(runtime))
        )
        if runtime.doorbell.configured:
            yield _gauge(
                "cqe_redis_up",
                "Whether the queue server answered this scrape.",
                float(runtime.doorbell.answers),
            )
        if backup := last_backup.find(runtime.settings.data_dir):
            yield _gauge(
                "cqe_backup_last_success_timestamp_seconds",
                "Time of the last backup that this host made.",
                backup.made_at.timestamp(),
            )


def _storage_answers(runtime: Runtime) -> bool:
    try:
        runtime.storage.marker()
    except ServiceUnavailable:
        return False
    return True


def _host_info(session: Session) -> Metric:
    family = GaugeMetricFamily(
        "cqe_host_info", "Roles and version of this host.", labels=["role", "version"]
    )
    services = [row for row in list_running(session) if row.id == owner.this_host()]
    roles = {(row.service, row.version) for row in services if row.service == WEB}
    roles |= {(role, row.version) for row in services for role in row.roles}
    for labels in sorted(roles):
        family.add_metric(labels, 1)
    return family


def _of_database(session: Session, now: datetime) -> Iterator[Metric]:
    jobs = backlog.due_jobs(session, now)
    yield _gauge(
        "cqe_jobs_due",
        "Jobs that wait for a worker.",
        {job.kind: job.waiting for job in jobs},
        "kind",
    )
    yield _gauge(
        "cqe_jobs_running",
        "Jobs that are running.",
        {job.kind: job.running for job in jobs},
        "kind",
    )
    yield _gauge(
        "cqe_jobs_oldest_due_age_seconds",
        "How long the oldest waiting job has been due.",
        {job.kind: _age(job.oldest_at, now) for job in jobs},
        "kind",
    )
    yield from _of_webhooks(by_subscription(session), now)
    yield _gauge(
        "cqe_analytics_pending_facts",
        "Facts of analytics that are not in a file yet.",
        pending_count(session),
    )


def _of_webhooks(subscriptions: Sequence[SubscriptionBacklog], now: datetime) -> Iterator[Metric]:
    active = [subscription for subscription in subscriptions if subscription.is_active]
    yield _gauge(
        "cqe_webhook_backlog",
        "Pending deliveries, those due later included.",
        sum(subscription.pending for subscription in active),
    )
    yield _gauge(
        "cqe_webhook_held",
        "Pending deliveries of inactive subscriptions.",
        sum(subscription.pending for subscription in subscriptions if not subscription.is_active),
    )
    yield _gauge(
        "cqe_webhook_oldest_due_age_seconds",
        "How long the oldest pending delivery has been due.",
        max((_age(subscription.oldest_due_at, now) for subscription in active), default=0.0),
    )
    statuses = [subscription.status for subscription in subscriptions]
    yield _gauge(
        "cqe_webhook_subscriptions",
        "Subscriptions, by status.",
        {status: statuses.count(status) for status in SUBSCRIPTION_STATUSES},
        "status",
    )


def _age(moment: datetime | None, now: datetime) -> float:
    return max(0.0, (now - moment).total_seconds()) if moment else 0.0


def _gauge(name: str, text: str, samples: float | _Samples, label: str = "") -> Metric:
    if not isinstance(samples, dict):
        return GaugeMetricFamily(name, text, samples)
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in samples.items():
        family.add_metric([value], number)
    return family
