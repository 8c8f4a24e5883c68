"""A web server in processes of its own: `python -m tests.web_process`, gunicorn as in service."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from app.core.settings import Settings
from app.factory import create_app
from app.operations.processes.web import serve
from tests import commit_halts

ROOT = Path(__file__).parent.parent


class WebProcess:
    """A gunicorn master and its workers; the port is open from the start and stays."""

    def __init__(self, environment: dict[str, str], log_file: Path) -> None:
        self._log = log_file.open("ab")
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.web_process", str(self._listener.fileno())],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
            stdout=self._log,
            stderr=self._log,
            pass_fds=[self._listener.fileno()],
            start_new_session=True,
        )

    def workers(self) -> list[int]:
        """Return the processes that answer requests."""
        master = self.process.pid
        return [
            int(each) for each in Path(f"/proc/{master}/task/{master}/children").read_text().split()
        ]

    def kill_a_worker(self) -> bool:
        """Kill the worker that has run longest, as `kill -9` does; False when there is none."""
        for pid in self.workers()[:1]:
            os.kill(pid, signal.SIGKILL)
            return True
        return False

    def kill(self) -> None:
        """Kill the master and all its workers at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._listener.close()
        self._log.close()

    def close(self) -> None:
        if not self._log.closed:
            self.kill()


def main(listener: int) -> None:
    """Serve until it is killed."""
    settings = Settings.from_env(os.environ)
    app = create_app(settings)
    commit_halts.obey(commit_halts.rings)
    serve(app, settings, listener)


if __name__ == "__main__":
    main(int(sys.argv[1]))
