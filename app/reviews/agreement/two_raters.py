"""Agreement of two raters: over categories, over numbers, and the rates of a yes-or-no judge.

Everywhere `pairs` maps a pair (judge, human) of numbers to how often it occurred.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Pair: TypeAlias = tuple[float, float]
Pairs: TypeAlias = Mapping[Pair, int]
# The 97.5th percentile of the normal distribution.
_Z = 1.959963984540054
# A smaller sum of squares is rounding error.
_NOISE = 1e-12


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `count`, with the bounds of Wilson's interval (Wilson 1927) at 95 %."""

    hits: int
    count: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.hits / self.count


def share_equal(pairs: Pairs) -> float | None:
    """Return the share of pairs with equal answers; None without pairs."""
    total = sum(pairs.values())
    equal = sum(count for (judge, human), count in pairs.items() if judge == human)
    return equal / total if total else None


def kappa(pairs: Pairs) -> float | None:
    """Return Cohen's kappa (Cohen 1960); None without pairs, or where each side gives one answer only."""
    total = sum(pairs.values())
    if not total:
        return None
    judges, humans = _margins(pairs)
    observed = sum(count for (judge, human), count in pairs.items() if judge == human) * total
    expected = sum(judges[value] * humans[value] for value in judges)
    if expected == total * total:
        return None
    return (observed - expected) / (total * total - expected)


def weighted_kappa(pairs: Pairs) -> float | None:
    """Return kappa with squared distances of the values as weights (Cohen 1968).

    For equidistant categories it is the quadratic-weighted kappa. None without pairs, or where both
    give one same answer.
    """
    total = sum(pairs.values())
    judges, humans = _margins(pairs)
    apart = math.fsum(count * (judge - human) ** 2 for (judge, human), count in pairs.items())
    expected = math.fsum(
        judges[judge] * humans[human] * (judge - human) ** 2 for judge in judges for human in humans
    )
    return 1 - total * apart / expected if expected else None


def confusion(pairs: Pairs, categories: Iterable[float]) -> list[list[int]]:
    """Count the pairs in a table: one row for each human answer, one column for each of the judge."""
    known = list(categories)
    return [[pairs.get((judge, human), 0) for judge in known] for human in known]


def mean_f1(pairs: Pairs) -> float | None:
    """Return the mean F1 of the categories that occur (macro F1); None without pairs."""
    judges, humans = _margins(pairs)
    f1_scores = [
        2 * pairs.get((value, value), 0) / (judges[value] + humans[value])
        for value in {*judges, *humans}
    ]
    return math.fsum(f1_scores) / len(f1_scores) if f1_scores else None


def mean_recall(pairs: Pairs) -> float | None:
    """Return the mean recall of the human answers (UAR); None without pairs."""
    _, humans = _margins(pairs)
    recalls = [pairs.get((value, value), 0) / count for value, count in humans.items()]
    return math.fsum(recalls) / len(recalls) if recalls else None


def hit_rate(pairs: Pairs, category: float) -> Rate | None:
    """Return how often the judge gives this answer when people do; None if they never do."""
    count = sum(number for (_, human), number in pairs.items() if human == category)
    return wilson(pairs.get((category, category), 0), count) if count else None


def wilson(hits: int, count: int) -> Rate:
    """Return a share with the bounds of Wilson's interval at 95 %."""
    share, square = hits / count, _Z * _Z
    middle = share + square / (2 * count)
    spread = _Z * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    scale = 1 + square / count
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return Rate(hits, count, max(0.0, low), min(1.0, high))


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


def _margins(pairs: Pairs) -> tuple[Counter[float], Counter[float]]:
    judges: Counter[float] = Counter()
    humans: Counter[float] = Counter()
    for (judge, human), count in pairs.items():
        judges[judge] += count
        humans[human] += count
    return judges, humans
