"""Forking: child processes that lead a process group each, end when their parent ends, and share its memory."""

import ctypes
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import orjson

from app.core.process import log, stopping
from app.operations.failure import EXPECTED, CannotRun, text_of

logger = logging.getLogger(__name__)

_PR_SET_NAME = 15
_ALL_SIGNALS = frozenset(signal.valid_signals())
_RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


def fork(
    run: Callable[[], None],
    *,
    name: str,
    output: int | None = None,
    private: Sequence[int] = (),
) -> int:
    """Run a function in a child process and return the process id; the child never returns.

    Call it from the main thread only: the child is signalled when the thread that forked it ends.

    Args:
        name: what `ps -o comm` shows, up to 15 characters.
        output: file descriptor for the child's output; by default the parent's output.
        private: file descriptors that the child closes, such as the reading end of a pipe that it
            writes to. A child that held it open would block after the parent's death.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # A signal between the fork and the reset of handlers would run the parent's handler in the child.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return pid
    code = 1
    try:
        _become_child(parent, name, output)
        for descriptor in private:
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        logger.exception("a child process failed")
    finally:
        os._exit(code)


def call_in_child(function: Callable[[], Any]) -> Callable[[], Any]:
    """Call a function in a child process; return a function that waits for its result.

    What the function imports and opens ends with the child. Its result must be JSON.
    """
    read_end, write_end = os.pipe()
    pid = fork(lambda: _send_result(function, write_end), name="cqe: prepare")
    os.close(write_end)
    return partial(_receive_result, pid, read_end)


def _receive_result(pid: int, read_end: int) -> Any:
    """Wait for the result of a child.

    Raises:
        CannotRun: the function failed; the text says why.
    """
    with os.fdopen(read_end, "rb") as pipe:
        document = pipe.read()
    os.waitpid(pid, 0)
    if not document:
        raise CannotRun("the preparation ended without a result; see the log above")
    answer = orjson.loads(document)
    if "error" in answer:
        raise CannotRun(answer["error"])
    return answer["result"]


def share_memory() -> None:
    """Make what every child needs, and leave the children little reason to write into it.

    Linux copies a shared page when a child writes into it. The garbage collector writes into the
    objects that it looks at, and passes over frozen ones.
    """
    from sqlalchemy.orm import configure_mappers  # noqa: PLC0415 - the supervisor starts without it

    configure_mappers()
    gc.freeze()
    gc.enable()


def reap(pid: int) -> int | None:
    """Return the exit code of a child that has ended (negative: a signal), or None."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if ended else None


def signal_process(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, which may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM for a group of which only a zombie is left.
        return


class Children:
    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def start(self, name: str, run: Callable[[], None]) -> None:
        self._names[fork(run, name=f"cqe: {name}")] = name

    def count(self, name: str) -> int:
        return list(self._names.values()).count(name)

    def reap(self) -> None:
        self._names = {pid: name for pid, name in self._names.items() if reap(pid) is None}

    def stop(self, within_s: float) -> None:
        """Ask the children to release their rows and to end; end those that do not."""
        until = time.monotonic() + within_s
        for pid in self._names:
            signal_process(pid, signal.SIGTERM)
        while self._names and time.monotonic() < until:
            time.sleep(0.1)
            self.reap()
        for pid in self._names:
            signal_group(pid, signal.SIGKILL)


def _send_result(function: Callable[[], Any], write_end: int) -> None:
    try:
        answer = {"result": function()}
    except EXPECTED as error:
        answer = {"error": text_of(error)}
    os.write(write_end, orjson.dumps(answer))


def _become_child(parent: int, name: str, output: int | None) -> None:
    gc.enable()
    os.setpgid(0, 0)
    log.name_process(name.removeprefix("cqe: "))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    if output is not None:
        os.dup2(output, 1)
        os.dup2(output, 2)
    stopping.follow(parent)
