"""Growth of CPU time with the length of the input: linear code passes, quadratic code does not."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")
# Four times the input costs four times as much if the code is linear, and sixteen times as much if
# it is quadratic. The bound lies between the two, far from both.
FACTOR, MOST = 4, 9.0
_ROUNDS = 5


def is_linear(
    run: Callable[[Input], object], make: Callable[[int], Input], size: int, *, enough_s: float
) -> bool:
    """Compare the cost at a size with the cost at four times that size.

    A cost below `enough_s` at the larger size passes: too little to measure, and harmless. A bad
    ratio must show at two sizes, since some code is linear only from a size on.
    """
    return any(_grows_linearly(run, make, each, enough_s) for each in (size, 2 * size))


def _grows_linearly(
    run: Callable[[Input], object], make: Callable[[int], Input], size: int, enough_s: float
) -> bool:
    """Compare the least of several costs: other processes add to CPU time and take nothing away."""
    small, large = make(size), make(FACTOR * size)
    cheap_s = costly_s = math.inf
    for _ in range(_ROUNDS):
        costly_s = min(costly_s, cost_s(run, large))
        if costly_s < enough_s:
            return True
        cheap_s = min(cheap_s, *(cost_s(run, small) for _ in range(FACTOR)))
        if costly_s < MOST * cheap_s:
            return True
    return False


def cost_s(run: Callable[[Input], object], value: Input) -> float:
    """Return the CPU time of this thread that a call takes, in seconds."""
    begun = time.thread_time()
    run(value)
    return time.thread_time() - begun
