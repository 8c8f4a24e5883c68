"""Sweep: rings for rows whose bell was lost, and runs their jobs itself without a queue server."""

import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.core.errors import AppError
from app.core.process import stopping
from app.core.queue import NICENESS, Bell
from app.core.runtime import Runtime
from app.operations.processes.fork import fork, reap, signal_group, signal_process

logger = logging.getLogger(__name__)


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


class Sweeper:
    """Looks at each queue every tick; it runs at most one job of a queue itself."""

    def __init__(self, runtime: Runtime, queues: Sequence[JobQueue]) -> None:
        self._runtime = runtime
        self._queues = queues
        self._ring_at: dict[Bell, float] = {}
        self._running: dict[str, int] = {}

    def tick(self, *, is_keeper: bool = True) -> None:
        """Ring for rows that wait without a bell, or start their jobs.

        The keeper rings for all hosts. Each host that the queue server does not answer starts jobs.
        """
        self._reap()
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

    def stop(self, within_s: float) -> None:
        """Ask the running jobs to release their rows, and end those that do not."""
        until = time.monotonic() + within_s
        for pid in self._running.values():
            signal_process(pid, signal.SIGTERM)
        while self._running and time.monotonic() < until:
            time.sleep(0.1)
            self._reap()
        for pid in self._running.values():
            signal_group(pid, signal.SIGKILL)

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
        if bell.queue not in self._running and queue.role in self._runtime.settings.worker_roles:
            run = partial(_run_job, queue, self._runtime, bell.row_id)
            self._running[bell.queue] = fork(run, name=f"cqe: {bell.queue} job")

    def _reap(self) -> None:
        for queue, pid in list(self._running.items()):
            if reap(pid) is not None:
                del self._running[queue]


def _run_job(queue: JobQueue, runtime: Runtime, row_id: str) -> None:
    os.nice(NICENESS)
    stopping.listen()
    # A job that outlived its parent would run next to the one that reclaims its row.
    stopping.follow(os.getppid(), with_signal=signal.SIGKILL)
    queue.run(runtime, row_id)
