"""Means of criteria and sections, over all layouts that the facts have."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.analytics import layouts
from app.analytics.layouts import CRITERION, SECTION
from app.analytics.tallies import share_lanes


@dataclass(slots=True)
class LaneMean:
    """The mean score, 0 to 100, of one criterion or section over the `count` that it applied to."""

    key: str
    title: str
    section: str
    total: float = 0.0
    count: int = 0

    @property
    def mean(self) -> float:
        """The mean score."""
        return self.total / self.count


@dataclass(frozen=True, slots=True)
class LaneMeans:
    """What was found; sections stand in the order of the scorecards."""

    criteria: list[LaneMean]
    sections: list[LaneMean]

    def weakest(self, *, at_least: int, limit: int) -> list[LaneMean]:
        """Return the criteria with the lowest means, of those that applied often enough."""
        often = [each for each in self.criteria if each.count >= at_least]
        return sorted(often, key=lambda each: (each.mean, each.key))[:limit]

    def strongest(self, *, at_least: int) -> LaneMean | None:
        """Return the criterion with the highest mean, of those that applied often enough."""
        often = [each for each in self.criteria if each.count >= at_least]
        return min(often, key=lambda each: (-each.mean, each.key), default=None)


def means_of(shares: Mapping[int, int], known: Mapping[int, list[dict[str, str]]]) -> LaneMeans:
    """Take the means of the shares of a tally; the same key in two layouts is the same criterion.

    Args:
        known: the lanes of every layout.
    """
    found: dict[tuple[str, str], LaneMean] = {}
    for layout in sorted(shares):
        lanes = known[layout]
        numbers = share_lanes(shares[layout], len(lanes))
        for lane, total, count in zip(lanes, numbers[::2], numbers[1::2], strict=True):
            mean = found.setdefault(
                (lane["kind"], lane["key"]), LaneMean(lane["key"], lane["title"], lane["section"])
            )
            mean.total += total / layouts.scale_of(lane)
            mean.count += count
    kinds: dict[str, list[LaneMean]] = {CRITERION: [], SECTION: []}
    for (kind, _), lane_mean in found.items():
        if lane_mean.count:
            kinds[kind].append(lane_mean)
    return LaneMeans(kinds[CRITERION], kinds[SECTION])
