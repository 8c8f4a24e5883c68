"""Metrics server for Prometheus, in a process of its own or within another."""

import logging
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from app.core import hosts
from app.core.hosts import Keeper
from app.core.metrics import COUNTED, SUM_BUCKET, CountedMetric, HostCounts, MetricType, host_counts
from app.core.process import stopping
from app.core.runtime import Runtime
from app.system.metrics import ServiceMetrics

logger = logging.getLogger(__name__)

_STEP_S = 0.1
_RETRY_S = 5.0
# Longer than a minute, the longest usual time between two scrapes, so that the same host goes on reporting.
_REPORTER_LEASE_S = 90.0


@contextmanager
def metrics_served(runtime: Runtime) -> Iterator[None]:
    """Answer Prometheus inside the block, if CQE_METRICS_LISTEN is set; call it after the fork.

    Prometheus sends no key, so that it is answered at an address of its own, and off by default.
    """
    listen = runtime.settings.metrics_listen
    if listen is None:
        yield
        return
    reporter = Keeper(runtime.db, "figures", lease_s=_REPORTER_LEASE_S)
    ended = threading.Event()
    arguments = (*listen, registry_of(runtime, reporter), ended)
    thread = threading.Thread(target=_answer, args=arguments, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        reporter.step_down()


def serve_metrics(runtime: Runtime) -> None:
    """Answer Prometheus until SIGTERM."""
    stopping.listen()
    hosts.follow_clock(runtime.db.engine)
    with metrics_served(runtime):
        while not stopping.requested():
            time.sleep(_STEP_S)


def registry_of(runtime: Runtime, reporter: Keeper) -> CollectorRegistry:
    """Return all metrics of this host, and of the service where this process reports them."""
    registry = CollectorRegistry()
    registry.register(HostMetrics(runtime.settings.data_dir))
    registry.register(ServiceMetrics(runtime, reporter))
    return registry


def _answer(host: str, port: int, registry: CollectorRegistry, ended: threading.Event) -> None:
    """Answer until the event; wait while another process uses the port."""
    is_logged = False
    while not ended.is_set():
        try:
            server, thread = start_http_server(port, host, registry)
        except OSError as error:
            if not is_logged:
                logger.warning("CQE_METRICS_LISTEN: %s; trying again", error)
                is_logged = True
            ended.wait(_RETRY_S)
            continue
        ended.wait()
        server.shutdown()
        server.server_close()
        thread.join()


class HostMetrics(Collector):
    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering reads no file."""
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            counts = host_counts(self._data_dir)
        except (sqlite3.Error, OSError) as error:
            logger.warning("the counts of this host cannot be read: %s", error)
            return
        for metric in COUNTED:
            yield _family(metric, counts)


def _family(metric: CountedMetric, counts: HostCounts) -> Metric:
    values: defaultdict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for (name, labels, bucket), value in counts.values.items():
        # Another version of the service may have counted by other labels.
        if name == metric.name and len(labels) == len(metric.labels):
            values[labels][bucket] = value
    if not metric.labels:
        values[()] |= {}
    if metric.type is MetricType.HISTOGRAM:
        return _histogram(metric, values)
    if metric.type is MetricType.GAUGE:
        return GaugeMetricFamily(metric.name, metric.help, counts.gauges.get(metric.name, 0.0))
    is_counter = metric.type is MetricType.COUNTER
    family = (CounterMetricFamily if is_counter else GaugeMetricFamily)(
        metric.name, metric.help, labels=metric.labels
    )
    for labels, by_bucket in sorted(values.items()):
        family.add_metric(labels, by_bucket.get(0, 0.0))
    return family


def _histogram(metric: CountedMetric, values: dict[tuple[str, ...], dict[int, float]]) -> Metric:
    bounds = [*map(str, metric.buckets), "+Inf"]
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, by_bucket in sorted(values.items()):
        totals = accumulate(by_bucket.get(number, 0.0) for number in range(len(bounds)))
        family.add_metric(
            labels, list(zip(bounds, totals, strict=True)), sum_value=by_bucket.get(SUM_BUCKET, 0.0)
        )
    return family
