"""Bootstrap intervals of statistics over conversations."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Unit = TypeVar("Unit")
_DRAWS = 400
# With many different units a draw takes long, and the intervals are narrow: fewer draws are enough.
_MOST_DRAWN, _LEAST_DRAWS = 400_000, 60
# From this mean on, a normal distribution approximates Poisson's.
_MANY = 30


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and the bounds of its 95 % interval, which may be None."""

    value: float
    low: float | None
    high: float | None


def estimates(
    units: Mapping[Unit, int],
    statistics: Mapping[str, Callable[[Mapping[Unit, int]], float | None]],
    *,
    seed: str,
) -> dict[str, Estimate | None]:
    """Return statistics of units, each with its percentile interval (Efron 1979).

    The number of draws of each unit has a Poisson distribution whose mean is its count (Hanley and
    MacGibbon 2006), so that the cost of a draw grows with the number of different units only. Equal
    units and seeds give equal intervals. Dependent values, such as all ratings of one conversation,
    must be one unit. A statistic without a value is None; without a value in most draws it has no
    bounds.

    Args:
        units: the number of times that each unit occurred.
    """
    ordered = sorted(units.items(), key=repr)
    draws = max(_LEAST_DRAWS, min(_DRAWS, _MOST_DRAWN // max(1, len(ordered))))
    generator = random.Random(seed)  # noqa: S311 - it draws samples, and keeps no secret
    draws_of: dict[str, list[float]] = {name: [] for name in statistics}
    for _ in range(draws):
        drawn = {unit: times for unit, count in ordered if (times := _times(generator, count))}
        for name, statistic in statistics.items():
            value = statistic(drawn)
            if value is not None:
                draws_of[name].append(value)
    return {
        name: _estimate(statistic(units), draws_of[name], draws)
        for name, statistic in statistics.items()
    }


def _estimate(value: float | None, drawn: list[float], draws: int) -> Estimate | None:
    if value is None:
        return None
    if 2 * len(drawn) < draws:
        return Estimate(value, None, None)
    drawn.sort()
    cut = round(0.025 * (len(drawn) - 1))
    return Estimate(value, drawn[cut], drawn[len(drawn) - 1 - cut])


def _times(generator: random.Random, mean: int) -> int:
    """Draw from a Poisson distribution."""
    if mean >= _MANY:
        return max(0, round(generator.gauss(mean, math.sqrt(mean))))
    times, left = 0, generator.random()
    share = math.exp(-mean)
    while left > share and share > 0:
        left -= share
        times += 1
        share *= mean / times
    return times
