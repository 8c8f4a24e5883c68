"""A service in processes of its own, as `./run` starts it, with an eye on its children."""

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.api_keys import service as api_keys
from app.cli import main
from app.core.settings import Settings
from app.wiring import build_runtime
from tests.caller import Caller
from tests.forked import ForkedProcess
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
UP = [sys.executable, "-P", "-m", "app.cli", "up"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def environment(data_dir: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CQE_")}
    return {**kept, "CQE_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT), **more}


class ServiceProcess:
    """`up`, or another command that stays, with what it printed and the processes below it.

    It is forked from a process that has imported the service already, where it calls `run`, or runs
    `command` as a program of its own. `output` is a handle that gets a program's output instead of the file
    behind `text`.
    """

    def __init__(
        self,
        data_dir: Path,
        *arguments: str,
        command: list[str] | None = None,
        run: Callable[[tuple[str, ...], Path], None] | None = None,
        port: int = 0,
        output: int | None = None,
        **variables: str,
    ) -> None:
        self.port = port or free_port()
        self.data_dir = data_dir
        self._database_url = variables.get("CQE_DATABASE_URL", "")
        self.output = data_dir.parent / f"output-{time.monotonic_ns()}.txt"
        variables = {"CQE_PORT": str(self.port), "CQE_WORKERS": "1", **variables}
        self.environment = environment(data_dir, **variables)
        self.process: ForkedProcess | subprocess.Popen[bytes]
        if command is None:
            assert "PYTHONPATH" not in variables, "a fork has imported this checkout: set command"
            self.process = ForkedProcess(
                run or run_command,
                arguments or ("up",),
                data_dir.parent,
                environment=self.environment,
                output=self.output,
            )
            return
        with self.output.open("wb") as file:
            self.process = subprocess.Popen(
                command,
                stdout=file if output is None else output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=data_dir.parent,
            )

    @property
    def text(self) -> str:
        return self.output.read_text()

    def health(self) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", "/health")
            answer = connection.getresponse()
            return {"code": answer.status, **json.loads(answer.read())}
        except (OSError, http.client.HTTPException):
            return {"code": 0}
        finally:
            connection.close()

    def wait_ready(self) -> "ServiceProcess":
        wait_until(lambda: "is ready" in self.text or self.process.poll() is not None)
        assert "is ready" in self.text, self.text
        return self

    def caller(self) -> Caller:
        """Make an API key with every scope and return a client that uses it."""
        settings = Settings(
            data_dir=self.data_dir, database_url=self._database_url, redis_url="none"
        )
        runtime = build_runtime(settings)
        with runtime.db.writing() as session:
            issued = api_keys.create_key(session, runtime.keyring, name="walk", scopes=["*"])
        runtime.db.engine.dispose()
        return Caller(f"http://127.0.0.1:{self.port}", issued.pair.api_key, issued.pair.secret)

    def children(self) -> dict[int, str]:
        """Every living process below, with its short name."""
        return descendants(self.process.pid)

    def child(self, name: str) -> int:
        """The eldest living process of this short name."""
        return min(pid for pid, short_name in self.children().items() if short_name == name)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE_S)

    def end(self) -> None:
        """Leave nothing behind, whatever the test did."""
        below = self.children()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in below:
            kill(pid)


def run_to_end(data_dir: Path, *arguments: str, **variables: Any) -> tuple[int, str]:
    """Run a command of `cqe` in a fork; return its exit code and all that it printed."""
    command = ServiceProcess(data_dir, *arguments, **variables)
    try:
        return command.process.wait(timeout=PATIENCE_S), command.text
    finally:
        command.end()


def run_command(arguments: tuple[str, ...], folder: Path) -> None:
    """Run a command of `cqe` in this process."""
    os.chdir(folder)
    sys.argv[1:] = arguments
    main()


def is_refused(port: int) -> bool:
    """Return whether the port refuses connections."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    return False


def descendants(parent: int) -> dict[int, str]:
    listing = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,stat=,comm="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listing.stdout.splitlines()]
    below: dict[int, str] = {}
    parents = [parent]
    while parents:
        above = parents.pop()
        for pid, ppid, state, name in rows:
            if int(ppid) == above and not state.startswith("Z"):
                below[int(pid)] = name
                parents.append(int(pid))
    return below


def is_running(pid: int) -> bool:
    listing = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(listing.stdout.strip()) and not listing.stdout.startswith("Z")


def has_read(port: int, peer: socket.socket) -> bool:
    """Return whether the process at a port has accepted a connection and read all that was sent."""
    return _unread(port).get(peer.getsockname()[1]) == 0


def count_served(port: int, peers: list[socket.socket]) -> int:
    """Count the connections that the process at a port has accepted and not closed."""
    served = _unread(port)
    return sum(peer.getsockname()[1] in served for peer in peers)


def _unread(port: int) -> dict[int, int]:
    """Return the bytes that the process at a port has not read yet, by the port of each peer that it serves."""
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {
        int(row[2][-4:], 16): int(row[4].partition(":")[2], 16)
        for row in rows
        if row[1].endswith(f":{port:04X}") and row[9] != "0"
    }


def answered(connections: list[socket.socket]) -> list[socket.socket]:
    """Return the connections with an answer, or its first part."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    ready = {handle for handle, _ in poll.poll(0)}
    return [connection for connection in connections if connection.fileno() in ready]


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
