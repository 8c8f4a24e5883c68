"""Agreement of two raters over numbers: distance, bias and correlation.

Everywhere `pairs` maps a pair (judge, human) of numbers to how often it occurred.
"""

import math
from collections import Counter
from collections.abc import Callable

from app.agreement.categories import Pairs

# A smaller sum of squares is rounding error.
_NOISE = 1e-12


def mean_distance(pairs: Pairs) -> float | None:
    """Return the mean absolute error; None without pairs."""
    return _mean(pairs, lambda judge, human: abs(judge - human))


def bias(pairs: Pairs) -> float | None:
    """Return the mean of judge minus human: above 0 the judge is more lenient; None without pairs."""
    return _mean(pairs, lambda judge, human: judge - human)


def share_within(pairs: Pairs, distance: float) -> float | None:
    """Return the share of pairs that are at most so far apart; None without pairs."""
    return _mean(pairs, lambda judge, human: float(abs(judge - human) <= distance))


def pearson(pairs: Pairs) -> float | None:
    """Return the correlation of the values; None where one side never varies."""
    total = sum(pairs.values())
    if not total:
        return None
    mean_x = math.fsum(x * count for (x, _), count in pairs.items()) / total
    mean_y = math.fsum(y * count for (_, y), count in pairs.items()) / total
    xx = yy = xy = 0.0
    for (x, y), count in pairs.items():
        xx += count * (x - mean_x) ** 2
        yy += count * (y - mean_y) ** 2
        xy += count * (x - mean_x) * (y - mean_y)
    if min(xx, yy) < _NOISE:
        return None
    return max(-1.0, min(1.0, xy / math.sqrt(xx * yy)))


def spearman(pairs: Pairs) -> float | None:
    """Return the correlation of the ranks, with mean ranks for ties; None where one side never varies."""
    firsts, seconds = _ranks(pairs, 0), _ranks(pairs, 1)
    ranked: Counter[tuple[float, float]] = Counter()
    for (x, y), count in pairs.items():
        ranked[firsts[x], seconds[y]] += count
    return pearson(ranked)


def _mean(pairs: Pairs, measure: Callable[[float, float], float]) -> float | None:
    total = sum(pairs.values())
    summed = math.fsum(count * measure(judge, human) for (judge, human), count in pairs.items())
    return summed / total if total else None


def _ranks(pairs: Pairs, side: int) -> dict[float, float]:
    counted: Counter[float] = Counter()
    for pair, count in pairs.items():
        counted[pair[side]] += count
    ranks, before = {}, 0
    for value in sorted(counted):
        ranks[value] = before + (counted[value] + 1) / 2
        before += counted[value]
    return ranks
