"""Processes that start at once: forked from a server that has imported the service already.

Importing the service takes more processor time than most of these processes live.
"""

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.packages import load_tables
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "tests.sender_process",
        "tests.web_process",
        "app.operations.up",
        "app.operations.background_work",
        "app.operations.processes.workers",
        "tests.first_judgement",
    ]
)

load_tables()


class ForkedProcess:
    """A function that runs in a process with its own environment; its output goes into a file."""

    def __init__(
        self, run: Callable[..., None], *args: Any, environment: dict[str, str], output: Path
    ) -> None:
        output.touch()
        self._process = _SERVER.Process(target=_run, args=(run, args, environment, output))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while it runs."""
        return self.poll()

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Wait for its end and return the exit code, or minus the signal that ended it."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"process {self.pid} still runs"
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill it and the processes below it at once, as `kill -9` does, and wait for its end."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has no group of its own yet
                os.killpg(self.pid, signal.SIGKILL)
            self._process.kill()
        self.wait()


def _run(
    run: Callable[..., None], args: tuple[Any, ...], environment: dict[str, str], output: Path
) -> None:
    os.setsid()
    # A fork of a process in the background would ignore Ctrl+C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    with output.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    run(*args)
