"""Means of criteria and sections, over all layouts that the facts have."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.analytics import layouts, reading
from app.analytics.figures import Numbers
from app.analytics.layouts import CRITERION, NULL, SECTION
from app.analytics.reading import Question


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


def means(session: Session, question: Question) -> LaneMeans:
    """Take the means over the facts that are meant."""
    return means_of(reading.shares(session, question), layouts.lanes_by_layout(session))


def means_by(
    session: Session, question: Question, group: str, members: Collection[int]
) -> dict[int, LaneMeans]:
    """Take the means for each of some members of a group, by their code."""
    known = layouts.lanes_by_layout(session)
    found = reading.shares_by(session, question, group, members)
    return {code: means_of(shares, known) for code, shares in found.items()}


def means_of(shares: Mapping[int, Numbers], known: Mapping[int, list[dict[str, str]]]) -> LaneMeans:
    """Take the means of shares; the same key in two layouts is the same criterion."""
    found: dict[tuple[str, str], LaneMean] = {}
    for layout in sorted(shares):
        lanes = known[layout]
        for place, lane in enumerate(lanes):
            column = shares[layout][place :: len(lanes)]
            count = len(column) - column.count(NULL)
            total = sum(column) - NULL * (len(column) - count)
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
