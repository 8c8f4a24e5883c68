"""A web server in processes of its own: gunicorn as in service."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from app.core.settings import Settings
from app.factory import create_app
from app.operations.processes.web import serve
from tests import commit_halts
from tests.forked import ForkedProcess


class WebProcess:
    """A gunicorn master and its workers; the port is open from the start and stays."""

    def __init__(
        self,
        environment: dict[str, str],
        log_file: Path,
        run: Callable[[socket.socket], None] | None = None,
    ) -> None:
        """Start; `run` serves on the socket, by default as in service."""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.process = ForkedProcess(
            run or serve_web, self._listener, environment=environment, output=log_file
        )

    def workers(self) -> list[int]:
        """Return the processes that answer requests."""
        master = self.process.pid
        return [
            int(each) for each in Path(f"/proc/{master}/task/{master}/children").read_text().split()
        ]

    def kill_a_worker(self) -> bool:
        """Kill the worker that has run longest, as `kill -9` does; False if no worker runs."""
        for pid in self.workers()[:1]:
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def kill(self) -> None:
        """Kill the master and all its workers at once."""
        self.process.kill()
        self._listener.close()


def serve_web(listener: socket.socket) -> None:
    """Serve until it is killed."""
    settings = Settings.from_env(os.environ)
    app = create_app(settings)
    commit_halts.obey(commit_halts.rings)
    serve(app, settings, listener.fileno())
