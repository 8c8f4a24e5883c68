"""A map that only rises: from what is expected to what people gave, without any assumed shape."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rising:
    """`knots` are points (from, to), rising; straight lines lead from each to the next."""

    knots: tuple[tuple[float, float], ...]

    def value(self, point: float) -> float:
        """Return where a point is mapped to; beyond the ends to the ends."""
        place = bisect_right(self.knots, point, key=lambda knot: knot[0])
        if place in (0, len(self.knots)):
            return self.knots[min(place, len(self.knots) - 1)][1]
        (left, low), (right, high) = self.knots[place - 1], self.knots[place]
        return low + (high - low) * (point - left) / (right - left)


def rising(points: Iterable[tuple[float, float]]) -> Rising:
    """Fit the rising map with the least squared distance to points (from, to).

    Neighbours that would fall are put together at their means (Ayer et al. 1955), and each such
    block is a knot in its middle.

    Raises:
        ValueError: there are no points.
    """
    blocks: list[tuple[float, float, int]] = []
    for start, end in sorted(points):
        block = (start, end, 1)
        # Equal points are one block whatever they lead to.
        while blocks and (blocks[-1][1] >= block[1] or blocks[-1][0] >= block[0]):
            block = _together(blocks.pop(), block)
        blocks.append(block)
    if not blocks:
        raise ValueError("a map needs points")
    return Rising(tuple((start, end) for start, end, _ in blocks))


def _together(
    one: tuple[float, float, int], other: tuple[float, float, int]
) -> tuple[float, float, int]:
    count = one[2] + other[2]
    start, end = (
        (a * one[2] + b * other[2]) / count for a, b in zip(one[:2], other[:2], strict=True)
    )
    return start, end, count
