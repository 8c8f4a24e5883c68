"""What Prometheus learns of requests, of all web processes of this data folder together."""

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

from app.core.request_figures import BUCKETS_S, Figures, added_up

_BOUNDS = [*map(str, BUCKETS_S), "+Inf"]


class RequestMetrics(Collector):
    """Reads the figures whenever it is asked."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def describe(self) -> list[Metric]:
        """Name nothing in advance: registering reads no file."""
        return []

    def collect(self) -> Iterator[Metric]:
        figures, in_flight = added_up(self._data_dir)
        now = GaugeMetricFamily("cqe_http_in_flight", "Requests that are being answered now.")
        now.add_metric([], in_flight)
        yield now
        answers = CounterMetricFamily(
            "cqe_http_requests",
            "Requests answered, by route and class of status.",
            labels=["method", "route", "status"],
        )
        for key, (_, *counts) in sorted(figures.items()):
            answers.add_metric(key, sum(counts))
        yield answers
        times = HistogramMetricFamily(
            "cqe_http_request_duration_seconds",
            "Time from the request's arrival to its answer's head.",
            labels=["method", "route"],
        )
        for labels, (seconds, *counts) in sorted(_by_route(figures).items()):
            buckets = list(zip(_BOUNDS, accumulate(counts), strict=True))
            times.add_metric(labels, buckets, sum_value=seconds)
        yield times


def _by_route(figures: Figures) -> dict[tuple[str, str], Sequence[float]]:
    found: dict[tuple[str, str], Sequence[float]] = {}
    for (method, route, _), values in figures.items():
        known = found.get((method, route), [0.0] * len(values))
        found[method, route] = [one + other for one, other in zip(known, values, strict=True)]
    return found
