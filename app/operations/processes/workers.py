"""Worker: the webhook sender, the scheduler of jobs with its queue workers, and periodic tasks."""

import logging
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.core import hosts
from app.core.commands import COMMAND
from app.core.database.schema_revision import is_usable
from app.core.errors import AppError, ServiceUnavailable
from app.core.hosts import WORKER, Heartbeat, Keeper
from app.core.jobs.runner import LeaseRenewal
from app.core.metrics import PERIODIC_SUCCESS
from app.core.process import background, stopping
from app.core.process.log import OnceAMinute
from app.core.queue import Bell, WaitingBells, redis_url, work
from app.core.runtime import Runtime
from app.core.settings import KEEPER, SENDER
from app.judge.languages.lexicon import lexicon_of
from app.operations import start_checks
from app.operations.processes.fork import Children, call_in_child
from app.operations.processes.metrics import metrics_served
from app.operations.processes.supervisor import Service, Supervisor
from app.privacy import jobs as erasures
from app.webhooks.sender.loop import run_sender

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

_TICK_S = 1.0
_STEP_S = 0.1
_STOP_WITHIN_S = 20.0
_RENEW_CHECK_S = 1.0
# A worker needs this long to start and to take its first bell.
_START_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class JobQueue:
    """A queue of jobs: how a job is run by its row id, and how due rows are found.

    `due_ids` returns the ids of rows that may start now: due, and under no valid lease; the
    longest waiting first, at most about a hundred. The sweep rings for such a row after
    `ring_after_s`, and again every `ring_every_s`. `role` is that of the workers that run it.
    """

    queue: str
    role: str
    run: Callable[[Runtime, str], object]
    due_ids: Callable[[Runtime], Sequence[str]]
    ring_after_s: float = 2.0
    ring_every_s: float = 10.0


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A short task that runs every so many seconds; a failure is logged, once a minute, and tried again.

    Attributes:
        on_each_host: whether it is about the data folder, and not for the keeper alone.
    """

    name: str
    every_s: float
    run: Callable[[Runtime], object]
    on_each_host: bool = False


def services(
    runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]
) -> list[Service]:
    """List the worker's processes; the scheduler starts those that do the jobs."""
    # The usual lexicon is loaded before the workers are forked, so that they share it.
    lexicon_of("en")
    hosts.follow_clock(runtime.db.engine)
    sender = Service("sender", partial(_send_webhooks, runtime))
    return [
        *([sender] if SENDER in runtime.settings.worker_roles else []),
        Service("scheduler", partial(_run_sweeps, runtime, queues)),
        Service("upkeep", partial(run_tasks, runtime, tasks)),
    ]


def run(runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]) -> None:
    """Keep the worker's processes running until SIGTERM; wait for up-to-date tables first."""
    supervisor = Supervisor()
    supervisor.handle_signals()
    is_logged = False
    while not supervisor.is_stopping and not _tables_are_ready(runtime):
        if not is_logged:
            logger.warning("the tables are not up to date: waiting for `%s db upgrade`", COMMAND)
            is_logged = True
        time.sleep(1)
    if not supervisor.is_stopping:
        # In children: the client of an object storage has threads, which a fork would lose.
        call_in_child(partial(start_checks.require_usable, runtime))()
        call_in_child(partial(erasures.repeat_erasures_at_start, runtime))()
        runtime.db.engine.dispose()
        supervisor.start(services(runtime, tasks, queues))
        supervisor.run()


def _send_webhooks(runtime: Runtime) -> None:
    stopping.listen()
    run_sender(runtime, stopping.requested)


def _tables_are_ready(runtime: Runtime) -> bool:
    with runtime.db.reading() as session:
        return is_usable(session)


def _run_sweeps(runtime: Runtime, queues: Sequence[JobQueue]) -> None:
    """Start workers where a bell rings, and sweep, until SIGTERM; jobs are then released."""
    stopping.listen()
    children = Children()
    sweeper = _Sweeper(runtime, queues, children)
    workers = _QueueWorkers(runtime, queues, children)
    heartbeat = Heartbeat(
        runtime.db,
        WORKER,
        runtime.settings.worker_roles,
        queue_server=runtime.doorbell.server_id,
    )
    keeper = _keeper(runtime, "sweeps")
    while not stopping.requested():
        began_at = time.monotonic()
        heartbeat.beat()
        is_keeper = keeper.take_or_renew()
        sweeper.tick(is_keeper=is_keeper)
        if is_keeper:
            runtime.counts.note(PERIODIC_SUCCESS, "sweep")
        runtime.counts.write()
        while time.monotonic() - began_at < _TICK_S and not stopping.requested():
            children.reap()
            workers.tick()
            time.sleep(_STEP_S)
    keeper.step_down()
    children.stop(_STOP_WITHIN_S)
    heartbeat.stop()


def run_tasks(runtime: Runtime, tasks: Sequence[PeriodicTask]) -> None:
    """Run the periodic tasks until SIGTERM.

    The process does not fork: the client of an object storage has threads, which a fork would lose.
    """
    stopping.listen()
    keeper = _keeper(runtime, "tasks")
    due_at = dict.fromkeys(tasks, 0.0)
    with metrics_served(runtime):
        while not stopping.requested():
            began_at = time.monotonic()
            for task in tasks:
                is_due = time.monotonic() >= due_at[task] and not stopping.requested()
                if is_due and (task.on_each_host or keeper.take_or_renew()):
                    # A task may take longer than the lease.
                    with LeaseRenewal(keeper.take_or_renew, _RENEW_CHECK_S):
                        _run_task(task, runtime)
                    due_at[task] = time.monotonic() + task.every_s
            runtime.counts.write()
            while time.monotonic() - began_at < _TICK_S and not stopping.requested():
                time.sleep(_STEP_S)
    keeper.step_down()


def _keeper(runtime: Runtime, name: str) -> Keeper:
    return Keeper(runtime.db, name, is_allowed=KEEPER in runtime.settings.worker_roles)


def _run_task(task: PeriodicTask, runtime: Runtime) -> None:
    try:
        task.run(runtime)
        runtime.counts.note(PERIODIC_SUCCESS, task.name)
    except Exception as error:
        # The failure of one task must not end the others.
        is_expected = isinstance(error, OSError | ServiceUnavailable | sqlite3.Error)
        text = "%s failed and is tried again in %g s: %s"
        logger.warning(text, task.name, task.every_s, error, exc_info=not is_expected)


class _QueueWorkers:
    """Starts workers for the queues in which a bell waits, up to `CQE_WORKER_PROCESSES` for each.

    A process that waits for work takes memory, and most queues are empty most of the time.
    """

    def __init__(self, runtime: Runtime, queues: Sequence[JobQueue], children: Children) -> None:
        self._runtime = runtime
        roles = runtime.settings.worker_roles
        self._queues = {queue.queue: queue for queue in queues if queue.role in roles}
        self._children = children
        self._url = redis_url(runtime.settings)
        self._bells = WaitingBells(self._url, list(self._queues))
        self._start_at = dict.fromkeys(self._queues, 0.0)

    def tick(self) -> None:
        """Start a worker for each queue that has a waiting bell and too few workers."""
        now = time.monotonic()
        for name in self._bells.queues():
            is_full = self._children.count(name) >= self._runtime.settings.most_worker_processes
            if not is_full and now >= self._start_at[name]:
                run = partial(_run_row, self._queues[name], self._runtime)
                self._children.start(name, partial(work, name, self._url, run))
                self._start_at[name] = now + _START_EVERY_S


class _Sweeper:
    """Looks at each queue every tick; it runs at most one job of a queue itself."""

    def __init__(self, runtime: Runtime, queues: Sequence[JobQueue], children: Children) -> None:
        self._runtime = runtime
        self._queues = queues
        self._children = children
        self._ring_at: dict[Bell, float] = {}

    def tick(self, *, is_keeper: bool) -> None:
        """Ring for rows that wait without a bell, or start their jobs.

        The keeper rings for all hosts. Each host that the queue server does not answer starts jobs.
        """
        if not is_keeper and self._runtime.doorbell.answers:
            return
        waiting: set[Bell] = set()
        for queue in self._queues:
            try:
                due = [Bell(queue.queue, row_id) for row_id in queue.due_ids(self._runtime)]
            except AppError as error:
                logger.warning("the sweep of %s has to wait: %s", queue.queue, error)
                continue
            waiting.update(due)
            self._serve(queue, due)
        self._ring_at = {bell: at for bell, at in self._ring_at.items() if bell in waiting}

    def _serve(self, queue: JobQueue, due: Sequence[Bell]) -> None:
        now = time.monotonic()
        for bell in due:
            if not self._runtime.doorbell.configured:
                self._run_here(queue, bell)
                continue
            # The row's own bell may still arrive; a row in a long queue is not rung for every time.
            if now < self._ring_at.setdefault(bell, now + queue.ring_after_s):
                continue
            if self._runtime.doorbell.ring(bell):
                self._ring_at[bell] = now + queue.ring_every_s
            else:
                self._run_here(queue, bell)

    def _run_here(self, queue: JobQueue, bell: Bell) -> None:
        name = f"{bell.queue} job"
        is_ours = queue.role in self._runtime.settings.worker_roles
        if is_ours and not self._children.count(name):
            self._children.start(name, partial(_run_job, queue, self._runtime, bell.row_id))


def _run_job(queue: JobQueue, runtime: Runtime, row_id: str) -> None:
    background.give_way()
    stopping.listen()
    # A job that outlived its parent would run at the same time as the one that reclaims its row.
    stopping.follow(os.getppid(), with_signal=signal.SIGKILL)
    _run_row(queue, runtime, row_id)


def _run_row(queue: JobQueue, runtime: Runtime, row_id: str) -> None:
    """Run the job of a row; while the database is away, the sweep runs it later."""
    try:
        queue.run(runtime, row_id)
    except ServiceUnavailable as error:
        logger.warning("the jobs of %s have to wait: %s", queue.queue, error)
