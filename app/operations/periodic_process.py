"""The process that keeps time: sweeps every second, and does each periodic task when it is due."""

import logging
import time

from app.core.process import heartbeat, stopping
from app.core.runtime import Runtime
from app.operations.periodic import JOB_QUEUES, TASKS, Task
from app.operations.sweep import Sweeper

logger = logging.getLogger(__name__)

_TURN_S = 1.0
_STEP_S = 0.1
_STOP_WITHIN_S = 20.0


def run(runtime: Runtime) -> None:
    """Work until SIGTERM; jobs that run in here are finished or handed back."""
    stopping.listen()
    sweeper = Sweeper(runtime, JOB_QUEUES)
    due_at = dict.fromkeys(TASKS, 0.0)
    while not stopping.requested():
        began_at = time.monotonic()
        sweeper.tick()
        for task in TASKS:
            if time.monotonic() >= due_at[task] and not stopping.requested():
                _do(task, runtime)
                due_at[task] = time.monotonic() + task.every_s
        while time.monotonic() - began_at < _TURN_S and not stopping.requested():
            time.sleep(_STEP_S)
    sweeper.stop(_STOP_WITHIN_S)
    heartbeat.stop(runtime.settings.data_dir)


def _do(task: Task, runtime: Runtime) -> None:
    try:
        task.run(runtime)
    except Exception:
        # One task's failure must not end the others.
        logger.warning(
            "%s failed and is tried again in %g s", task.name, task.every_s, exc_info=True
        )
