"""A real queue server for a test: the bundled program on a socket of its own."""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from app.core import queue
from app.system.queue_choice import bundled_program


@dataclass
class QueueServer:
    """A running server; `stop` kills it, `start` brings it back empty."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.folder}/queue.sock?db=0"

    def start(self) -> None:
        socket = self.folder / "queue.sock"
        socket.unlink(missing_ok=True)
        options = [
            "--port",
            "0",
            "--unixsocket",
            str(socket),
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]
        self.process = subprocess.Popen([bundled_program(), *options], stdout=subprocess.DEVNULL)
        while queue.problem(self.url):
            time.sleep(0.005)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def client(self) -> "contextlib.closing[Redis]":
        return contextlib.closing(Redis.from_url(self.url))


@contextlib.contextmanager
def running_queue_server() -> Iterator[QueueServer]:
    """Start a server in a folder short enough for a socket; stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="cqe") as folder:
        server = QueueServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
