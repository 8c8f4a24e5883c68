"""Fairness of the draws of review plans over simulated weeks.

`python -m bench.draws [weeks]`: six agents have fifteen conversations each, of which three are drawn
each week and dealt to two reviewers. Prints how often each came, and the bounds that uniform draws
keep with a probability of 99.9 %.
"""

import sys
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from app.reviews.drawing import Candidate, PlanReviewer, draw

AGENTS, EACH, WANTED, WEEKS = 6, 15, 3, 1000
REVIEWERS = (PlanReviewer("user_1", 1), PlanReviewer("user_2", 1))
_DOUBT = 0.001


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of each conversation, or of each pair of agent and reviewer, and how many were expected."""

    of: str
    counts: Mapping[Hashable, int]
    number: int
    expected: float
    deviation: float

    @property
    def bound(self) -> float:
        """Return how far the farthest of them may be from what is expected."""
        return NormalDist().inv_cdf(1 - _DOUBT / (2 * self.number)) * self.deviation

    @property
    def farthest(self) -> float:
        return max(abs(count - self.expected) for count in self.counts.values())

    @property
    def is_fair(self) -> bool:
        return len(self.counts) == self.number and self.farthest <= self.bound


def candidates(number: int = EACH, agents: int = AGENTS, **more: str) -> list[Candidate]:
    return [
        Candidate(
            f"conv_{agent}_{index}", f"eval_{agent}_{index}", f"exec_{agent}", "Priya", **more
        )
        for agent in range(agents)
        for index in range(number)
    ]


def simulated(weeks: int) -> list[Draws]:
    """Draw for so many weeks."""
    drawn: Counter[Hashable] = Counter()
    dealt: Counter[Hashable] = Counter()
    for week in range(weeks):
        items, _ = draw(candidates(), REVIEWERS, lambda pool: WANTED, f"17:{week}")
        assert len({item.candidate.source_id for item in items}) == AGENTS * WANTED
        drawn.update(item.candidate.source_id for item in items)
        dealt.update((item.candidate.executive_id, item.user_id) for item in items)
    share, half = WANTED / EACH, weeks * WANTED / len(REVIEWERS)
    deviation = sqrt(weeks * share * (1 - share))
    return [
        Draws("each conversation", drawn, AGENTS * EACH, weeks * share, deviation),
        Draws("each agent by a reviewer", dealt, AGENTS * len(REVIEWERS), half, sqrt(half / 2)),
    ]


def main(weeks: int) -> None:
    for draws in simulated(weeks):
        least, most = min(draws.counts.values()), max(draws.counts.values())
        print(
            f"{draws.of:24} {draws.expected:.0f} times of {weeks:,} weeks expected, {least} to {most} "
            f"found, {draws.farthest:.0f} off at most of {draws.bound:.0f}: "
            f"{'fair' if draws.is_fair else 'NOT FAIR'}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WEEKS)
