"""Intervals by drawing again: what figures would be, had other conversations been reviewed."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Unit = TypeVar("Unit")
_DRAWS = 400
# With very many different units each draw takes long, and intervals are narrow whatever one does.
_MOST_DRAWN, _LEAST_DRAWS = 400_000, 60
# From here on a normal distribution is as good as Poisson's.
_MANY = 30


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the bounds of its 95 % interval, None where it has none."""

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

    How often each unit is drawn follows Poisson's law around how often it occurred (Hanley and
    MacGibbon 2006), so that a draw costs no more than there are different units. The same units
    and seed give the same intervals. Give what belongs together, such as all ratings of one
    conversation, as one unit. None where a statistic has no value; no bounds where it has none in
    most draws.

    Args:
        units: how often each unit occurred.
    """
    every = sorted(units.items(), key=repr)
    draws = max(_LEAST_DRAWS, min(_DRAWS, _MOST_DRAWN // max(1, len(every))))
    chance = random.Random(seed)  # noqa: S311 - it draws samples, and keeps no secret
    found: dict[str, list[float]] = {name: [] for name in statistics}
    for _ in range(draws):
        drawn = {unit: times for unit, count in every if (times := _times(chance, count))}
        for name, statistic in statistics.items():
            value = statistic(drawn)
            if value is not None:
                found[name].append(value)
    return {
        name: _estimate(statistic(units), found[name], draws)
        for name, statistic in statistics.items()
    }


def _estimate(value: float | None, found: list[float], draws: int) -> Estimate | None:
    if value is None:
        return None
    if 2 * len(found) < draws:
        return Estimate(value, None, None)
    found.sort()
    cut = round(0.025 * (len(found) - 1))
    return Estimate(value, found[cut], found[len(found) - 1 - cut])


def _times(chance: random.Random, mean: int) -> int:
    """Draw from Poisson's law."""
    if mean >= _MANY:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    times, left = 0, chance.random()
    share = math.exp(-mean)
    while left > share and share > 0:
        left -= share
        times += 1
        share *= mean / times
    return times
