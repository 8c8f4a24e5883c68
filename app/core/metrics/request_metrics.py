"""Metrics of requests, of all web processes that use one data folder."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from app.core.metrics.request_counts import BUCKETS_S, Counts, total_counts

_BOUNDS = [*map(str, BUCKETS_S), "+Inf"]


class RequestMetrics(Collector):
    """Reads the counts at every scrape."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering reads no file."""
        return []

    def collect(self) -> Iterator[Metric]:
        counts, in_flight = total_counts(self._data_dir)
        gauge = GaugeMetricFamily("cqe_http_in_flight", "Requests that are being answered.")
        gauge.add_metric([], in_flight)
        yield gauge
        answers = CounterMetricFamily(
            "cqe_http_requests",
            "Requests answered, by route and status class.",
            labels=["method", "route", "status"],
        )
        for key, (_, *buckets) in sorted(counts.items()):
            answers.add_metric(key, sum(buckets))
        yield answers
        durations = HistogramMetricFamily(
            "cqe_http_request_duration_seconds",
            "Time from the arrival of a request to the head of its answer.",
            labels=["method", "route"],
        )
        for labels, (seconds, *buckets) in sorted(_by_route(counts).items()):
            bounds = list(zip(_BOUNDS, accumulate(buckets), strict=True))
            durations.add_metric(labels, bounds, sum_value=seconds)
        yield durations


def _by_route(counts: Counts) -> dict[tuple[str, str], Sequence[float]]:
    totals: dict[tuple[str, str], Sequence[float]] = {}
    for (method, route, _), values in counts.items():
        known = totals.get((method, route), [0.0] * len(values))
        totals[method, route] = [one + other for one, other in zip(known, values, strict=True)]
    return totals
