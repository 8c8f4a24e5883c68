"""Waiting for what other threads and processes do."""

import time
from collections.abc import Callable

# No test passes or fails by the speed of the machine: this only ends a wait that is in vain.
PATIENCE_S = 180.0


def wait_until(
    fact: Callable[[], object],
    within_s: float = PATIENCE_S,
    *,
    every_s: float = 0.02,
    describe: Callable[[], object] = lambda: "it did not come true in time",
) -> None:
    """Wait until a fact is true; otherwise fail with a description of what is."""
    until = time.monotonic() + within_s
    while not fact():
        assert time.monotonic() < until, describe()
        time.sleep(every_s)
