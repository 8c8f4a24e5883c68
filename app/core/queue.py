"""The doorbell: tells a worker over RQ that a row waits; a lost bell costs only a moment."""

import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from rq import Queue, SimpleWorker, Worker
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.timeouts import TimerDeathPenalty
from rq.worker import BaseWorker

from app.core.process import background, owner, stopping
from app.core.process.log import OnceAMinute
from app.core.settings import Settings

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_URL_FILE = "queue.url"
_SERVER_ID_KEY = "cqe:server"
_SERVER_ID = re.compile(rb"[0-9a-f]{32}")
_BREAKER_OPEN_S = 5.0
_MAX_IDLE_S = 10
# RQ wants the name of a function; the worker of a queue calls its own, whatever Redis says.
CALL = "cqe.bell"
_ROW_ID = re.compile(r"[A-Za-z0-9_-]{0,64}")
# The fields that `Doorbell.ring` and RQ's bookkeeping write.
_TRUSTED_FIELDS = frozenset(
    {
        b"created_at",
        b"data",
        b"ended_at",
        b"enqueued_at",
        b"failure_ttl",
        b"last_heartbeat",
        b"origin",
        b"result_ttl",
        b"started_at",
        b"status",
        b"timeout",
        b"ttl",
        b"worker_name",
    }
)

# What the worker of a queue calls with the row id of each bell.
RunRow = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Bell:
    """The queue to wake, and the id of the row that waits.

    `once`: rung at most once a second, until its `BellListener` says that it is about to sleep.
    """

    queue: str
    row_id: str = ""
    once: bool = False


def redis_url(settings: Settings) -> str:
    """Return the address of the queue server; empty without one.

    A running `up` stores the address of its own server in the data folder, so that other commands
    and processes share that server.
    """
    if settings.redis_url:
        return "" if settings.redis_url == "none" else settings.redis_url
    file = settings.data_dir / _URL_FILE
    url = file.read_text(errors="replace").strip() if file.is_file() else ""
    # A power failure may damage the file, which the next start of `up` writes again.
    return url if url.startswith(("unix://", "redis://", "rediss://")) else ""


def is_shared_by_hosts(url: str) -> bool:
    """Return whether other hosts may use this server as well; a Unix socket serves one host."""
    return bool(url) and not url.startswith("unix:")


def connect(url: str) -> "Redis":
    """Make a client that fails at once when the server is unreachable."""
    return Redis.from_url(
        url,
        socket_connect_timeout=0.2,
        socket_timeout=0.5,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
    )


class Breaker:
    """Remembers for five seconds that the server is unreachable, so that no caller waits."""

    def __init__(self) -> None:
        self._closed_again_at = 0.0

    @property
    def open(self) -> bool:
        """Return whether the server failed a moment ago."""
        return time.monotonic() < self._closed_again_at

    def trip(self) -> None:
        self._closed_again_at = time.monotonic() + _BREAKER_OPEN_S


class Doorbell:
    """Rings bells over RQ."""

    def __init__(self, url: str) -> None:
        self._client = connect(url) if url else None
        self._breaker = Breaker()
        self._queues: dict[str, Queue] = {}
        self._server_id = "" if is_shared_by_hosts(url) else owner.this_host()

    def ring(self, bell: Bell) -> bool:
        """Enqueue the job; False when there is no server or it does not answer."""
        if self._client is None or self._breaker.open:
            return False
        try:
            if bell.once and not self._client.set(_rung_key(bell.queue), 1, nx=True, px=1000):
                return True
            self._queue(bell.queue).enqueue(
                CALL,
                bell.row_id,
                job_timeout=-1,
                ttl=60,
                result_ttl=0,
                failure_ttl=60,
            )
        except RedisError as error:
            self._breaker.trip()
            logger.warning("The queue server is unreachable, the sweep takes over: %s", error)
            return False
        return True

    @property
    def answers(self) -> bool:
        """Return whether a server is configured and answers now."""
        if self._client is None:
            return False
        try:
            return bool(self._client.ping())
        except RedisError:
            return False

    @property
    def configured(self) -> bool:
        return self._client is not None

    def server_id(self) -> str:
        """Return the id that hosts have written into the server which they share.

        Without such a server it is the id of this host; empty before a server has answered. A server
        that has lost its memory gets the id that a host remembers.
        """
        if self._client is None or self._server_id == owner.this_host() or self._breaker.open:
            return self._server_id
        try:
            self._client.set(_SERVER_ID_KEY, self._server_id or uuid4().hex, nx=True)
            stored = self._client.get(_SERVER_ID_KEY)
        except RedisError:
            self._breaker.trip()
            return self._server_id
        # Anyone who can write to the server may have stored anything.
        if isinstance(stored, bytes) and _SERVER_ID.fullmatch(stored):
            self._server_id = stored.decode()
        return self._server_id

    def _queue(self, name: str) -> Queue:
        if name not in self._queues:
            self._queues[name] = Queue(name, connection=self._client, serializer=JSONSerializer)
        return self._queues[name]


class _RefusedJob(Exception):
    """Redis holds a job that no doorbell wrote."""


class _Call(Job):
    """Calls the function of its queue with a row id; nothing else that Redis holds has an effect.

    RQ would import and call any dotted name that it finds there, also as a callback, and send
    requests to any URL: a writer to Redis would command the worker.
    """

    run_row: RunRow

    @property
    def func(self) -> RunRow:
        """Return the function of the queue; raise `_RefusedJob` unless its argument is a row id."""
        is_row_id = len(self.args) == 1 and _is_row_id(self.args[0])
        if self.func_name != CALL or self.instance is not None or self.kwargs or not is_row_id:
            raise _RefusedJob("a queue takes bells with a row id only")
        return self.run_row

    def restore(self, raw_data: dict[bytes, bytes]) -> None:
        """Read the trusted fields of the stored job, without callbacks, webhooks and retries."""
        super().restore({name: raw_data[name] for name in raw_data if name in _TRUSTED_FIELDS})


def _is_row_id(value: object) -> bool:
    return isinstance(value, str) and _ROW_ID.fullmatch(value) is not None


class _Worker(Worker):
    """RQ's forking worker, whose jobs learn of a stop and never outlive it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pid = os.getpid()

    def handle_warm_shutdown_request(self) -> None:
        # RQ would wait for the whole job; a long one that is asked to stop releases its row.
        if self.horse_pid:
            self.kill_horse(signal.SIGTERM)

    def setup_work_horse_signals(self) -> None:
        stopping.listen()
        # RQ leaves the job running when its worker is killed, at the same time as the one that reclaims it.
        stopping.follow(self._pid, with_signal=signal.SIGKILL)


class _ThreadWorker(SimpleWorker):
    """An RQ worker that runs beside other threads: no signals, no fork."""

    death_penalty_class = TimerDeathPenalty
    max_connection_wait_time = 5.0

    def _install_signal_handlers(self) -> None:
        """Leave the process's signals alone."""


class BellListener:
    """An RQ worker in a thread of this process; each bell calls `on_ring`."""

    def __init__(self, queue: str, url: str, on_ring: Callable[[], object]) -> None:
        self._queue = queue
        self._on_ring = on_ring
        self._url = url
        self._breaker = Breaker()
        self._client = connect(url) if url else None
        self._worker: BaseWorker | None = None

    def start(self) -> None:
        """Listen until the process ends; does nothing without a server."""
        if self._url:
            threading.Thread(target=self._listen, name="bell", daemon=True).start()

    def before_sleep(self) -> None:
        """Allow the next bell; check once more for due rows after this, then sleep."""
        if self._client is not None and not self._breaker.open:
            try:
                self._client.delete(_rung_key(self._queue))
            except RedisError:
                self._breaker.trip()

    def stop(self) -> None:
        """Remove this worker from the server's list."""
        if self._worker is not None:
            with suppress(RedisError):
                self._worker.register_death()  # type: ignore[no-untyped-call]

    def _listen(self) -> None:
        while True:
            try:
                self._worker = _rq_worker(
                    _ThreadWorker, self._queue, self._url, lambda _: self._on_ring()
                )
                self._worker.work(logging_level="WARNING")
            except (RedisError, ValueError) as error:
                logger.warning("The queue server is unreachable, the tick takes over: %s", error)
            time.sleep(2)


class WaitingBells:
    """Sees which queues have bells that no worker has taken."""

    def __init__(self, url: str, queues: Sequence[str]) -> None:
        self._client = connect(url) if url else None
        self._breaker = Breaker()
        self._lists = {f"{Queue.redis_queue_namespace_prefix}{queue}": queue for queue in queues}

    def queues(self) -> list[str]:
        """Return the queues in which a bell waits; none while the server is away."""
        if self._client is None or self._breaker.open or not self._lists:
            return []
        try:
            if not self._client.exists(*self._lists):
                return []
            return [queue for key, queue in self._lists.items() if self._client.exists(key)]
        except RedisError:
            self._breaker.trip()
            return []


def work(queue: str, url: str, run_row: RunRow) -> None:
    """Run an RQ worker on one queue, calling `run_row` for each bell.

    It ends when it is told to stop, or when its queue has been empty for a while.

    One queue a worker: with several, RQ pops with BLPOP and a kill right after loses the job.
    """
    background.give_way()
    try:
        worker = _rq_worker(_Worker, queue, url, run_row)
        worker.work(logging_level="WARNING", max_idle_time=_MAX_IDLE_S)
    except RedisError as error:
        logger.warning("The queue server is unreachable, the sweep takes over: %s", error)
        # A server that is full still shows its bells, for which the next worker would start at once.
        time.sleep(_BREAKER_OPEN_S)


def problem(url: str) -> str:
    """Return why the queue server at this address does not answer; empty if it does."""
    try:
        with connect(url) as client:
            client.ping()
    except RedisError as error:
        return str(error) or type(error).__name__
    return ""


def publish_url(data_dir: Path, url: str) -> None:
    """Store the address of the running queue server in the data folder."""
    (data_dir / _URL_FILE).write_text(url + "\n")


def withdraw_url(data_dir: Path) -> None:
    """Remove the stored address when that server has ended."""
    (data_dir / _URL_FILE).unlink(missing_ok=True)


def _rq_worker(kind: type[BaseWorker], queue: str, url: str, run_row: RunRow) -> BaseWorker:
    client = Redis.from_url(url, socket_connect_timeout=1)
    job_class = type("QueueCall", (_Call,), {"run_row": staticmethod(run_row)})
    return kind(
        [Queue(queue, connection=client, job_class=job_class, serializer=JSONSerializer)],
        connection=client,
        job_class=job_class,
        serializer=JSONSerializer,
        name=f"{queue}-{uuid4().hex}",
        worker_ttl=60,
        maintenance_interval=30,
        log_job_description=False,
    )


def _rung_key(queue: str) -> str:
    return f"cqe:rung:{queue}"
