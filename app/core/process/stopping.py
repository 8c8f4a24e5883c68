"""Stop requests: a signal, or the end of the parent, ends work early, also work that waits."""

import ctypes
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 0.1
_FIRST_PAUSE_S = 0.5
_asked = False


class Stopped(Exception):
    """Work was asked to end early, and has ended."""


def requested() -> bool:
    """Return whether this process was asked to stop; long jobs check it at each step."""
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


def wait_for(
    call: Callable[[], Result], should_stop: Callable[[], bool], abandon: Callable[[], None]
) -> Result:
    """Return what the call returns; the call runs in a thread, so that this one can look up.

    Raises:
        Stopped: `should_stop` returned true; the call was abandoned, and ends when it notices.
    """
    result = in_thread(call, name="abandonable call")
    while not wait([result], timeout=_LOOK_EVERY_S).done:
        if should_stop():
            abandon()
            raise Stopped
    return result.result()


def in_thread(call: Callable[[], Result], *, name: str) -> "Future[Result]":
    """Run a call in a thread of its own, which keeps no process from ending."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def backoff_s(retries: int, *, at_least_s: float) -> float:
    """Return how long to wait before the next attempt: longer after each retry, with jitter."""
    return max(_FIRST_PAUSE_S * (1 << retries) * random.uniform(0.5, 1.5), at_least_s)  # noqa: S311


def pause(seconds: float, should_stop: Callable[[], bool]) -> None:
    """Let time pass; raise `Stopped` when the work has to end."""
    until = time.monotonic() + seconds
    while (remaining := until - time.monotonic()) > 0:
        if should_stop():
            raise Stopped
        time.sleep(min(remaining, _LOOK_EVERY_S))
