"""Forked children: each leads its own process group, writes to our output, ends when we do."""

import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.core.errors import AppError
from app.core.process import stopping
from app.core.settings import SettingsError
from app.operations.failure import CannotRun

logger = logging.getLogger(__name__)

_PR_SET_NAME = 15
_ALL_SIGNALS = frozenset(signal.valid_signals())
_RESET = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class Service:
    """One child that is kept alive: its work, and how long it may take to end.

    Tiers start from low to high and end from high to low. One that is wanted `once` is started
    again only as long as it fails.
    """

    name: str
    run: Callable[[], None]
    tier: int = 1
    stop_within_s: float = 25.0
    once: bool = False


def fork(
    run: Callable[[], None],
    *,
    name: str,
    output: int | None = None,
    private: Sequence[int] = (),
) -> int:
    """Run a function in a child process and return its id; the child never returns.

    Call it from the main thread only: the child is told when the thread that forked it ends.

    Args:
        name: what `ps -o comm` shows, up to 15 characters.
        output: where the child's output goes, if not to ours.
        private: handles that the child closes. The reading end of a pipe that it writes to, say:
            held open by the writer, it would let it wait for ever after our death.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # A signal between fork and the reset of handlers would run the parent's handler in the child.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return pid
    code = 1
    try:
        _become_child(parent, name, output)
        for handle in private:
            os.close(handle)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        logger.exception("a child process failed")
    finally:
        os._exit(code)


def run_apart(run: Callable[[], Any]) -> Any:
    """Run a function in a child and return its JSON answer; what it loads and opens ends with it.

    Raises:
        CannotRun: it failed; the text says how.
    """
    read_end, write_end = os.pipe()
    pid = fork(lambda: _answer(run, write_end), name="cqe: prepare")
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    if not answer:
        raise CannotRun("the preparation ended without an answer; see the log above")
    found = orjson.loads(answer)
    if "failure" in found:
        raise CannotRun(found["failure"])
    return found["result"]


def reap(pid: int) -> int | None:
    """Return the exit code of an ended child (negative: a signal), or None while it runs."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if ended else None


def signal_process(pid: int, number: signal.Signals) -> None:
    """Send a signal to one process, which may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a child and everything that it started in its group."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM for a group of which only a zombie is left.
        return


def _answer(run: Callable[[], Any], write_end: int) -> None:
    try:
        answer = {"result": run()}
    except (CannotRun, SettingsError) as error:
        answer = {"failure": str(error)}
    except AppError as error:
        answer = {"failure": error.message}
    os.write(write_end, orjson.dumps(answer))


def _become_child(parent: int, name: str, output: int | None) -> None:
    os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in _RESET:
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if output is not None:
        os.dup2(output, 1)
        os.dup2(output, 2)
    stopping.follow(parent)
