"""Waiting that ends when the work has to: for a call that runs aside, or for a moment to pass."""

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from app.core.process.stopping import Stopped

Result = TypeVar("Result")
_LOOK_EVERY_S = 0.1
_FIRST_PAUSE_S = 0.5


def wait_for(
    call: Callable[[], Result], should_stop: Callable[[], bool], abandon: Callable[[], None]
) -> Result:
    """Return what the call returns; the call runs in a thread, so that this one can look up.

    Raises:
        Stopped: `should_stop` returned true; the call was abandoned, and ends when it notices.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="abandonable call", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
        if thread.is_alive() and should_stop():
            abandon()
            raise Stopped
    if errors:
        raise errors[0]
    return results[0]


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
