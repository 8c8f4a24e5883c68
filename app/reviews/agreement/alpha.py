"""Krippendorff's alpha: agreement of any number of raters, with missing ratings.

Krippendorff, Computing Krippendorff's Alpha-Reliability (2011). `units` maps the values that one
thing was given, in any order, to how many things were given just these.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import TypeAlias

Units: TypeAlias = Mapping[tuple[float, ...], int]
Distance: TypeAlias = Callable[[float, float], float]


def nominal(units: Units) -> float | None:
    """Return alpha for categories without an order; None where nothing varies or is rated twice."""
    return _alpha(units, lambda _: lambda one, other: float(one != other))


def ordinal(units: Units) -> float | None:
    """Return alpha for categories in an order whose steps are not measured."""
    return _alpha(units, _ordinal)


def interval(units: Units) -> float | None:
    """Return alpha for numbers, whose squared differences count."""
    number, total, squares, within = 0, 0.0, 0.0, 0.0
    for values, count in units.items():
        size = len(values)
        if size < 2:
            continue
        own, own_squares = math.fsum(values), math.fsum(value * value for value in values)
        within += count * (size * own_squares - own * own) / (size - 1)
        number += count * size
        total += count * own
        squares += count * own_squares
    spread = number * squares - total * total
    # A smaller spread is rounding error.
    return 1 - (number - 1) * within / spread if spread > 1e-9 else None


def _alpha(units: Units, distance_in: Callable[[Counter[float]], Distance]) -> float | None:
    coincidences: defaultdict[tuple[float, float], float] = defaultdict(float)
    totals: Counter[float] = Counter()
    for values, count in units.items():
        if len(values) < 2:
            continue
        own = Counter(values)
        for value, times in own.items():
            totals[value] += count * times
            for other, others in own.items():
                pairs = times * (others - (value == other))
                coincidences[value, other] += count * pairs / (len(values) - 1)
    distance = distance_in(totals)
    apart = math.fsum(times * distance(*pair) for pair, times in coincidences.items())
    expected = math.fsum(
        totals[one] * totals[other] * distance(one, other) for one in totals for other in totals
    )
    return 1 - (totals.total() - 1) * apart / expected if expected else None


def _ordinal(totals: Counter[float]) -> Distance:
    # A value is placed at the middle of its equals; the distance counts the values in between.
    places, before = {}, 0
    for value in sorted(totals):
        places[value] = before + totals[value] / 2
        before += totals[value]
    return lambda one, other: (places[one] - places[other]) ** 2
