"""Arithmetic of time intervals in whole milliseconds, and percentiles."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

Interval: TypeAlias = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that touch or overlap; sorted, without the empty ones."""
    merged: list[Interval] = []
    for start, end in sorted(pair for pair in intervals if pair[1] > pair[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(disjoint: Iterable[Interval]) -> int:
    """Sum the lengths of intervals that don't overlap."""
    return sum(end - start for start, end in disjoint)


def intersection(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    """Intersect two unions; what only touches is left out."""
    common: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            common.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common


def gaps(disjoint: Sequence[Interval]) -> list[Interval]:
    """List the gaps between the intervals of a union: what comes before and after is no gap."""
    return [(before[1], after[0]) for before, after in pairwise(disjoint)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Interpolate linearly between the two nearest ranks; ValueError without values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    if below + 1 >= len(ordered):
        return float(ordered[-1])
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (rank - below)
