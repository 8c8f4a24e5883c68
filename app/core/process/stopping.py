"""Stop requests: a signal, or the end of the parent, asks a process to end."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1
_asked = False


class Stopped(Exception):
    """Work was asked to end early, and has ended."""


def requested() -> bool:
    """Whether this process was asked to stop; long jobs check it at each step."""
    return _asked


def never_stop() -> bool:
    """Return False: for work that is never stopped."""
    return False


def listen() -> None:
    """Remember SIGTERM instead of ending, and leave Ctrl-C to the parent."""
    global _asked
    _asked = False
    signal.signal(signal.SIGTERM, _note)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def on_interrupt() -> Iterator[None]:
    """Let Ctrl-C ask the work inside to stop; the block then ends with `KeyboardInterrupt`.

    A second Ctrl-C interrupts at once.
    """

    def note(*_: object) -> None:
        _note()
        signal.signal(signal.SIGINT, former)

    former = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
    if _asked:
        raise KeyboardInterrupt


def follow(parent_pid: int, *, with_signal: signal.Signals = signal.SIGTERM) -> None:
    """Receive a signal when the parent dies; call it in the child, right after the fork."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)
        if os.getppid() != parent_pid:
            os.kill(os.getpid(), with_signal)
    else:
        watcher = threading.Thread(target=_watch, args=(parent_pid, with_signal), daemon=True)
        watcher.start()


def _note(*_: object) -> None:
    global _asked
    _asked = True


def _watch(parent_pid: int, with_signal: signal.Signals) -> None:
    while os.getppid() == parent_pid:
        time.sleep(1)
    os.kill(os.getpid(), with_signal)
