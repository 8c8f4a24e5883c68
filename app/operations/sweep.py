"""The sweep: rings for rows that wait unheard, and does their jobs itself when no bell answers."""

import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from app.core.errors import AppError
from app.core.process import stopping
from app.core.queue import Bell
from app.core.runtime import Runtime
from app.operations.children import fork, reap, signal_group, signal_process

logger = logging.getLogger(__name__)

_FIRST_RING_AFTER_S = 2.0
_NEXT_RING_AFTER_S = 10.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """One kind of work: its queue, its job by dotted name, and how to find the rows that wait.

    `due_ids` returns the ids of rows that may be worked on now: due, and under no living lease;
    the longest waiting first, at most about a hundred.
    """

    queue: str
    job: str
    due_ids: Callable[[Runtime], Sequence[str]]


class Sweeper:
    """Looks at each kind of work every turn; at most one job a queue runs in here."""

    def __init__(self, runtime: Runtime, sweeps: Sequence[Sweep]) -> None:
        self._runtime = runtime
        self._sweeps = sweeps
        self._ring_at: dict[Bell, float] = {}
        self._running: dict[str, int] = {}

    def turn(self) -> None:
        """Ring for what has waited unheard, or start its job."""
        self._bury()
        waiting: set[Bell] = set()
        for sweep in self._sweeps:
            try:
                due = self._sweep_ids(sweep)
            except AppError as error:
                logger.warning("the sweep of %s has to wait: %s", sweep.queue, error)
                continue
            waiting.update(due)
            self._serve(due)
        self._ring_at = {bell: at for bell, at in self._ring_at.items() if bell in waiting}

    def stop(self, within_s: float) -> None:
        """Ask the running jobs to hand back, and end those that do not."""
        until = time.monotonic() + within_s
        for pid in self._running.values():
            signal_process(pid, signal.SIGTERM)
        while self._running and time.monotonic() < until:
            time.sleep(0.1)
            self._bury()
        for pid in self._running.values():
            signal_group(pid, signal.SIGKILL)

    def _sweep_ids(self, sweep: Sweep) -> list[Bell]:
        return [Bell(sweep.queue, sweep.job, (each,)) for each in sweep.due_ids(self._runtime)]

    def _serve(self, due: Sequence[Bell]) -> None:
        now = time.monotonic()
        for bell in due:
            if not self._runtime.doorbell.configured:
                self._do_here(bell)
                continue
            # A fresh row's own bell is on its way; one in a long queue must not be rung for forever.
            if now < self._ring_at.setdefault(bell, now + _FIRST_RING_AFTER_S):
                continue
            if self._runtime.doorbell.ring(bell):
                self._ring_at[bell] = now + _NEXT_RING_AFTER_S
            else:
                self._do_here(bell)

    def _do_here(self, bell: Bell) -> None:
        if bell.queue not in self._running:
            run = partial(_run_job, bell)
            self._running[bell.queue] = fork(run, name=f"cqe: {bell.queue} job")

    def _bury(self) -> None:
        for queue, pid in list(self._running.items()):
            if reap(pid) is not None:
                del self._running[queue]


def _run_job(bell: Bell) -> None:
    stopping.listen()
    # Told of the parent's end by SIGTERM alone, a job would go on beside the one that follows it.
    stopping.follow(os.getppid(), with_signal=signal.SIGKILL)
    module, _, function = bell.job.rpartition(".")
    getattr(import_module(module), function)(*bell.arguments)
