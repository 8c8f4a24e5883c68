"""Catalogue of the metrics that the processes of a host count; docs/monitoring.md lists them."""

from dataclasses import dataclass
from enum import Enum

_REQUEST_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_JOB_BUCKETS_S = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0)


class MetricType(Enum):
    """Type of a metric; a moment is a gauge that keeps the latest time of an event."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    MOMENT = "moment"


@dataclass(frozen=True, slots=True)
class CountedMetric:
    """A metric that processes count; `name` is without the suffixes of counters and histograms."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    type: MetricType = MetricType.COUNTER
    buckets: tuple[float, ...] = ()


REQUESTS = CountedMetric(
    "cqe_http_requests",
    "Requests answered, by route and status class.",
    ("method", "route", "status"),
)
REQUEST_SECONDS = CountedMetric(
    "cqe_http_request_duration_seconds",
    "Time from the arrival of a request to the head of its answer.",
    ("method", "route"),
    MetricType.HISTOGRAM,
    _REQUEST_BUCKETS_S,
)
REQUESTS_IN_FLIGHT = CountedMetric(
    "cqe_http_in_flight", "Requests that are being answered.", type=MetricType.GAUGE
)
ATTEMPTS = CountedMetric("cqe_webhook_attempts", "Recorded attempts, by outcome.", ("outcome",))
ATTEMPT_SECONDS = CountedMetric(
    "cqe_webhook_attempt_duration_seconds",
    "Time from the start of an attempt to its outcome.",
    (),
    MetricType.HISTOGRAM,
    _REQUEST_BUCKETS_S,
)
ATTEMPTS_IN_FLIGHT = CountedMetric(
    "cqe_webhook_in_flight", "Attempts in flight.", type=MetricType.GAUGE
)
RECLAIMED_DELIVERIES = CountedMetric(
    "cqe_webhook_reclaimed",
    "Deliveries reclaimed from a sender that was killed or lost its lease.",
)
JOBS_ENDED = CountedMetric("cqe_jobs_ended", "Jobs that ended, by outcome.", ("kind", "outcome"))
JOB_SECONDS = CountedMetric(
    "cqe_job_seconds",
    "Time that jobs waited for a worker, and time from their start to their end.",
    ("kind", "stage"),
    MetricType.HISTOGRAM,
    _JOB_BUCKETS_S,
)
TRANSCRIBED_SECONDS = CountedMetric(
    "cqe_transcribed_seconds", "Length of the recordings that were transcribed."
)
PERIODIC_SUCCESS = CountedMetric(
    "cqe_periodic_last_success_timestamp_seconds",
    "Time at which a periodic task last succeeded.",
    ("task",),
    MetricType.MOMENT,
)

COUNTED = (
    REQUESTS,
    REQUEST_SECONDS,
    REQUESTS_IN_FLIGHT,
    ATTEMPTS,
    ATTEMPT_SECONDS,
    ATTEMPTS_IN_FLIGHT,
    RECLAIMED_DELIVERIES,
    JOBS_ENDED,
    JOB_SECONDS,
    TRANSCRIBED_SECONDS,
    PERIODIC_SUCCESS,
)
