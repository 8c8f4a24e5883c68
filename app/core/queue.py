"""The doorbell: tells a worker that a row waits. The row is the truth; a lost bell costs a moment."""

import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, Worker
from rq.serializers import JSONSerializer

from app.core import stopping
from app.core.settings import Settings

logger = logging.getLogger(__name__)

URL_FILE = "queue.url"
_BREAKER_OPEN_S = 5.0


@dataclass(frozen=True, slots=True)
class Bell:
    """Which queue to wake, with which job (a dotted name), about which row ids."""

    queue: str
    job: str
    arguments: tuple[str, ...] = ()


def redis_url(settings: Settings) -> str:
    """Return the queue server's address, or an empty text where there is none.

    A running `up` leaves the address of its own server in the data folder, so that commands and
    processes started beside it share that server.
    """
    if settings.redis_url:
        return "" if settings.redis_url == "none" else settings.redis_url
    file = settings.data_dir / URL_FILE
    return file.read_text().strip() if file.is_file() else ""


def connect(url: str, *, read_timeout_s: float = 0.5) -> "Redis":
    """Make a client that fails at once instead of waiting when the server is away."""
    return Redis.from_url(
        url,
        socket_connect_timeout=0.2,
        socket_timeout=read_timeout_s,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


class Breaker:
    """Remembers for five seconds that the server is away, so that no caller waits for it."""

    def __init__(self) -> None:
        self._closed_again_at = 0.0

    @property
    def open(self) -> bool:
        """Whether the server failed a moment ago."""
        return time.monotonic() < self._closed_again_at

    def trip(self) -> None:
        """Note a failure."""
        self._closed_again_at = time.monotonic() + _BREAKER_OPEN_S


class Doorbell:
    """Rings over RQ; says whether anybody could have heard it."""

    def __init__(self, url: str) -> None:
        self._client = connect(url) if url else None
        self._breaker = Breaker()
        self._queues: dict[str, Queue] = {}

    def ring(self, bell: Bell) -> bool:
        """Enqueue the job; False when there is no server or it does not answer."""
        if self._client is None or self._breaker.open:
            return False
        try:
            self._queue(bell.queue).enqueue(
                bell.job,
                *bell.arguments,
                job_timeout=-1,
                ttl=60,
                result_ttl=0,
                failure_ttl=60,
            )
        except RedisError as error:
            self._breaker.trip()
            logger.warning("queue server away, the sweep takes over: %s", error)
            return False
        return True

    @property
    def answers(self) -> bool:
        """Whether a server is configured and answers now."""
        if self._client is None:
            return False
        try:
            return bool(self._client.ping())
        except RedisError:
            return False

    @property
    def configured(self) -> bool:
        """Whether there is a queue server at all."""
        return self._client is not None

    def _queue(self, name: str) -> Queue:
        if name not in self._queues:
            self._queues[name] = Queue(name, connection=self._client, serializer=JSONSerializer)
        return self._queues[name]


class _Worker(Worker):
    """RQ's forking worker, whose jobs learn of a stop and never outlive it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pid = os.getpid()

    def handle_warm_shutdown_request(self) -> None:
        # RQ would wait for the whole job; told of the stop, a long one hands its row back.
        if self.horse_pid:
            self.kill_horse(signal.SIGTERM)

    def setup_work_horse_signals(self) -> None:
        stopping.listen()
        # RQ leaves the job running when its worker is killed, beside the one that takes it up anew.
        stopping.follow(self._pid, with_signal=signal.SIGKILL)


def work(queue: str, url: str) -> None:
    """Run an RQ worker on one queue until it is told to stop.

    One queue a worker: with several, RQ pops with BLPOP and a kill right after loses the job.
    """
    client = Redis.from_url(url, socket_connect_timeout=1)
    worker = _Worker(
        [Queue(queue, connection=client, serializer=JSONSerializer)],
        connection=client,
        serializer=JSONSerializer,
        name=f"{queue}-{uuid4().hex}",
        worker_ttl=60,
        maintenance_interval=30,
        log_job_description=False,
    )
    worker.work(logging_level="WARNING")


def answers(url: str) -> bool:
    """Whether a queue server answers at this address."""
    try:
        with connect(url) as client:
            return bool(client.ping())
    except RedisError:
        return False


def clear_locks(url: str) -> None:
    """Drop what a killed run left locked, so that nothing waits for it to lapse."""
    with connect(url) as client:
        for key in client.scan_iter("rq:scheduler-lock:*"):
            client.delete(key)


def publish_url(data_dir: Path, url: str) -> None:
    """Leave the address of the running queue server for processes of this data folder."""
    (data_dir / URL_FILE).write_text(url + "\n")


def withdraw_url(data_dir: Path) -> None:
    """Take the address back: that server has ended."""
    (data_dir / URL_FILE).unlink(missing_ok=True)
