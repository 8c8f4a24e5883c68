"""Scheduler: one process starts queue workers and sweeps the queues, another runs periodic tasks."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.core.hosts import WORKER, Heartbeat, Keeper
from app.core.jobs.runner import LeaseRenewal
from app.core.metrics import PERIODIC_SUCCESS
from app.core.process import stopping
from app.core.runtime import Runtime
from app.core.settings import KEEPER
from app.operations.processes.fork import Children
from app.operations.processes.metrics import metrics_served
from app.operations.processes.sweep import JobQueue, QueueWorkers, Sweeper

logger = logging.getLogger(__name__)

_TICK_S = 1.0
_STEP_S = 0.1
_STOP_WITHIN_S = 20.0
_RENEW_CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """A short task that runs every so many seconds; a failure is logged and tried again.

    Attributes:
        on_each_host: whether it is about the data folder, and not for the keeper alone.
    """

    name: str
    every_s: float
    run: Callable[[Runtime], object]
    on_each_host: bool = False


def run_sweeps(runtime: Runtime, queues: Sequence[JobQueue]) -> None:
    """Start workers where a bell rings, and sweep, until SIGTERM; jobs are then released."""
    stopping.listen()
    children = Children()
    sweeper = Sweeper(runtime, queues, children)
    workers = QueueWorkers(runtime, queues, children)
    heartbeat = Heartbeat(runtime.db, WORKER, runtime.settings.worker_roles)
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
    except Exception:
        # The failure of one task must not end the others.
        logger.warning(
            "%s failed and is tried again in %g s", task.name, task.every_s, exc_info=True
        )
