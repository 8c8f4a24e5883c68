"""Growth of CPU time with the length of the input: linear code passes, quadratic code does not."""

import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")
# Four times the input costs four times as much if the code is linear, and sixteen times as much if
# it is quadratic. The bound lies between the two, far from both.
FACTOR, MOST = 4, 9.0


def is_linear(
    run: Callable[[Input], object], make: Callable[[int], Input], size: int, *, enough_s: float
) -> bool:
    """Compare the cost at a size with the cost at four times that size.

    A cost below `enough_s` at the larger size passes: too little to measure, and harmless. A bad
    ratio must show twice, at two sizes, since other processes disturb even CPU time.
    """
    return any(_grows_linearly(run, make, each, enough_s) for each in (size, 2 * size))


def _grows_linearly(
    run: Callable[[Input], object], make: Callable[[int], Input], size: int, enough_s: float
) -> bool:
    costly = cost_s(run, make(FACTOR * size))
    if costly < enough_s:
        return True
    small = make(size)
    return costly / min(cost_s(run, small) for _ in range(2)) < MOST


def cost_s(run: Callable[[Input], object], value: Input) -> float:
    """Return the CPU time of this thread that a call takes, in seconds."""
    begun = time.thread_time()
    run(value)
    return time.thread_time() - begun
