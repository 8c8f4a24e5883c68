"""Job queues: workers where a bell rings, and a sweep of the rows whose bell was lost."""

import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.core.errors import AppError
from app.core.process import background, stopping
from app.core.queue import Bell, WaitingBells, redis_url, work
from app.core.runtime import Runtime
from app.operations.processes.fork import Children

logger = logging.getLogger(__name__)

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


class QueueWorkers:
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
                run = partial(self._queues[name].run, self._runtime)
                self._children.start(name, partial(work, name, self._url, run))
                self._start_at[name] = now + _START_EVERY_S


class Sweeper:
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
    # A job that outlived its parent would run next to the one that reclaims its row.
    stopping.follow(os.getppid(), with_signal=signal.SIGKILL)
    queue.run(runtime, row_id)
