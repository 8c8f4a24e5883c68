"""Worker command: the worker's processes without a web server."""

from collections.abc import Sequence

from app.core.process import log
from app.operations import data_dir
from app.operations.background_work import JOB_QUEUES, TASKS
from app.operations.environment import settings_here, warn_of_unknown
from app.operations.failure import plain_errors
from app.operations.processes import workers
from app.operations.processes.scheduler import PeriodicTask
from app.operations.processes.sweep import JobQueue
from app.wiring import build_runtime


def run(tasks: Sequence[PeriodicTask] = TASKS, queues: Sequence[JobQueue] = JOB_QUEUES) -> None:
    """Run the worker until SIGTERM."""
    with plain_errors():
        settings = settings_here()
        log.configure(settings.log_level)
        data_dir.prepare(settings.data_dir)
        data_dir.lock_shared(settings.data_dir)
        warn_of_unknown()
        workers.run(build_runtime(settings), tasks, queues)
