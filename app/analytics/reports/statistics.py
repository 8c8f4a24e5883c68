"""Statistics of counted integers, without intermediate rounding."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate


def percentile(counted: Mapping[int, int], share: float) -> float | None:
    """Return a percentile of the counted values, interpolated between neighbours.

    The median of 1, 2, 4 and 8 is 3.
    """
    values = sorted(counted)
    ends = list(accumulate(counted[value] for value in values))
    if not ends:
        return None
    place = (ends[-1] - 1) * share
    low = math.floor(place)
    below, above = (values[bisect_right(ends, rank)] for rank in (low, min(low + 1, ends[-1] - 1)))
    return below + (above - below) * (place - low)


def deviation(counted: Mapping[int, int]) -> float | None:
    """Return the population standard deviation of the counted values."""
    number = sum(counted.values())
    if not number:
        return None
    total = sum(value * count for value, count in counted.items())
    squares = sum(value * value * count for value, count in counted.items())
    return math.sqrt(max(0, number * squares - total * total)) / number


def share(part: int, whole: int) -> float | None:
    """Return a share from 0 to 1; None where the whole is 0."""
    return part / whole if whole else None


def slope(values: Sequence[float | None]) -> float | None:
    """Return the mean rise from one value to the next, by least squares.

    A missing value keeps its place. None for fewer than two values.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return None
    middle = sum(index for index, _ in known) / len(known)
    average = sum(value for _, value in known) / len(known)
    spread = sum((index - middle) ** 2 for index, _ in known)
    return sum((index - middle) * (value - average) for index, value in known) / spread


def rounded(value: float | None, places: int) -> float | None:
    """Round for display, never to minus zero."""
    return None if value is None else round(value, places) + 0.0
