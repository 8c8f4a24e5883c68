"""Collector of the metrics that the processes of this host have counted."""

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from app.core.metrics.catalogue import COUNTED, CountedMetric, MetricType
from app.core.metrics.counts import SUM, HostCounts, host_counts

logger = logging.getLogger(__name__)


class HostMetrics(Collector):
    """Reads the counts at every scrape."""

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
            labels, list(zip(bounds, totals, strict=True)), sum_value=by_bucket.get(SUM, 0.0)
        )
    return family
