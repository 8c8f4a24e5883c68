"""Metrics that the processes of a host count, each adding to a SQLite file that all share.

A process counts in memory and adds what is new to the file: long-running ones every second, jobs
when they end. A kill loses at most the last second. docs/decisions/0017-metrics-of-a-host.md says why
prometheus_client does not do this; docs/monitoring.md lists the metrics.
"""

import atexit
import logging
import sqlite3
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

import orjson

from app.core.process import owner
from app.core.process.log import OnceAMinute

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_WRITE_EVERY_S = 1.0
_FILE = "metrics.db"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS counts(
  metric TEXT NOT NULL, labels TEXT NOT NULL, bucket INTEGER NOT NULL, value REAL NOT NULL,
  PRIMARY KEY (metric, labels, bucket)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gauges(
  owner TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL,
  PRIMARY KEY (owner, metric)) WITHOUT ROWID;
"""
# The sum of a histogram is stored with its buckets; a counter has only bucket 0.
SUM_BUCKET = -1
# The metric, its label values, and the bucket.
_Key: TypeAlias = tuple[str, tuple[str, ...], int]
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


@dataclass(frozen=True, slots=True)
class HostCounts:
    """The counts of all processes of a host; gauges are added up over the living ones."""

    values: dict[_Key, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)


class ProcessCounts:
    """The counts of this process; its threads may share them."""

    def __init__(self, data_dir: Path, *, enabled: bool) -> None:
        self.enabled = enabled
        self._data_dir = data_dir
        self._lock = threading.Lock()
        self._added: defaultdict[_Key, float] = defaultdict(float)
        self._moments: dict[_Key, float] = {}
        self._gauges: defaultdict[str, float] = defaultdict(float)
        self._written_gauges: dict[str, float] = {}
        self._thread: threading.Thread | None = None

    def count(self, metric: CountedMetric, *labels: str, by: float = 1.0) -> None:
        with self._lock:
            self._added[metric.name, labels, 0] += by

    def observe(self, metric: CountedMetric, *labels: str, seconds: float) -> None:
        bucket = bisect_left(metric.buckets, seconds)
        with self._lock:
            self._added[metric.name, labels, SUM_BUCKET] += seconds
            self._added[metric.name, labels, bucket] += 1

    def change(self, metric: CountedMetric, by: int) -> None:
        """Raise or lower this process's part of a gauge."""
        with self._lock:
            self._gauges[metric.name] += by

    def note(self, metric: CountedMetric, *labels: str) -> None:
        """Record that an event happens now."""
        with self._lock:
            self._moments[metric.name, labels, 0] = time.time()

    def keep_writing(self) -> None:
        """Write every second from now on; call it after the last fork."""
        with self._lock:
            if self._thread is not None or not self.enabled:
                return
            self._thread = threading.Thread(target=self._write_always, name="counts", daemon=True)
        self._thread.start()
        atexit.register(self.write)

    def write(self) -> None:
        """Add what is new to the file; when that fails, it is kept for the next time."""
        if not self.enabled:
            return
        with self._lock:
            added, self._added = self._added, defaultdict(float)
            moments, self._moments = self._moments, {}
            gauges = {
                name: value
                for name, value in self._gauges.items()
                if self._written_gauges.get(name) != value
            }
        if not added and not moments and not gauges:
            return
        try:
            with _opened(self._data_dir) as connection:
                _store(connection, added, moments, gauges)
        except (sqlite3.Error, OSError) as error:
            logger.warning("the metrics are not written: %s", error)
            if type(error) is sqlite3.DatabaseError:  # damaged, by a power failure
                (self._data_dir / _FILE).unlink(missing_ok=True)
            with self._lock:
                for key, value in added.items():
                    self._added[key] += value
                self._moments = moments | self._moments
        else:
            self._written_gauges |= gauges

    def _write_always(self) -> None:
        while True:
            self.write()
            time.sleep(_WRITE_EVERY_S)


def host_counts(data_dir: Path) -> HostCounts:
    if not (data_dir / _FILE).exists():
        return HostCounts()
    with _opened(data_dir) as connection:
        rows = connection.execute("SELECT metric, labels, bucket, value FROM counts").fetchall()
        parts = connection.execute("SELECT owner, metric, value FROM gauges").fetchall()
    gauges: defaultdict[str, float] = defaultdict(float)
    for process, metric, value in parts:
        if not owner.is_dead(process):
            gauges[metric] += value
    values = {
        (metric, tuple(orjson.loads(labels)), bucket): value
        for metric, labels, bucket, value in rows
    }
    return HostCounts(values, gauges)


@contextmanager
def _opened(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """Open a transaction; a connection kept open could not be used after a fork."""
    file = data_dir / _FILE
    with closing(sqlite3.connect(file, timeout=2, isolation_level=None)) as connection:
        # A power failure may lose the counts, a kill does not.
        connection.execute("PRAGMA synchronous=OFF")
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def _store(
    connection: sqlite3.Connection,
    added: dict[_Key, float],
    moments: dict[_Key, float],
    gauges: dict[str, float],
) -> None:
    connection.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET value = value + excluded.value",
        [_row(key, value) for key, value in added.items()],
    )
    connection.executemany(
        "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        [_row(key, value) for key, value in moments.items()],
    )
    if gauges:
        _forget_dead_owners(connection)
        process = owner.this_process()
        connection.executemany(
            "REPLACE INTO gauges VALUES (?, ?, ?)",
            [(process, name, value) for name, value in gauges.items()],
        )


def _forget_dead_owners(connection: sqlite3.Connection) -> None:
    owners = connection.execute("SELECT DISTINCT owner FROM gauges").fetchall()
    dead = [process for process in owners if owner.is_dead(process[0])]
    connection.executemany("DELETE FROM gauges WHERE owner = ?", dead)


def _row(key: _Key, value: float) -> tuple[str, str, int, float]:
    metric, labels, bucket = key
    return metric, orjson.dumps(labels).decode(), bucket, value
