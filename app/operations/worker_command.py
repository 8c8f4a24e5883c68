"""The worker as a command of its own, beside a web server that was started by itself."""

from app.web.current import current_runtime
from app.factory import create_app
from app.operations import data_dir, worker_processes
from app.operations.environment import settings_here, warn_of_unknown
from app.operations.failure import told_plainly


def main() -> None:
    """Run the worker until SIGTERM."""
    with told_plainly():
        settings = settings_here()
        data_dir.prepare(settings.data_dir)
        data_dir.hold_shared(settings.data_dir)
        # The whole application, so that no forked job has to load it (53 ms against 2 s).
        create_app(settings)
        warn_of_unknown()
        worker_processes.run(current_runtime())
