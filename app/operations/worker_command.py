"""Worker command: the worker's processes without a web server."""

from app.core.process import log
from app.operations import data_dir, worker_processes
from app.operations.environment import settings_here, warn_of_unknown
from app.operations.failure import told_plainly
from app.wiring import build_runtime


def main() -> None:
    """Run the worker until SIGTERM."""
    with told_plainly():
        settings = settings_here()
        log.configure(settings.log_level)
        data_dir.prepare(settings.data_dir)
        data_dir.hold_shared(settings.data_dir)
        warn_of_unknown()
        worker_processes.run(build_runtime(settings))
