"""Draws of review plans: uniformly at random for each agent, then dealt to reviewers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random

from app.core.principal import TeamScope

# Monday to Friday: what is drawn in a week is due on its days in turn.
_DAYS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    source_id: str
    evaluation_id: str
    executive_id: str
    executive: str
    call_center_id: str | None = None
    campaign_id: str | None = None


@dataclass(frozen=True, slots=True)
class PlanReviewer:
    """A person who gets a share of a draw, and the teams that the person is limited to."""

    user_id: str
    share: int
    teams: TeamScope | None = None

    def may_see(self, candidate: Candidate) -> bool:
        columns = self.teams.columns() if self.teams is not None else {}
        return all(getattr(candidate, name) in ids for name, ids in columns.items())


@dataclass(frozen=True, slots=True)
class Dealt:
    """A drawn conversation, who reviews it, and how many days after the draw that begins."""

    candidate: Candidate
    user_id: str
    day: int


@dataclass(frozen=True, slots=True)
class AgentCount:
    """Of one agent: how many conversations could be drawn, were wanted, and were drawn."""

    executive_id: str
    executive: str
    pool: int
    wanted: int
    drawn: int


def draw(
    candidates: Sequence[Candidate],
    reviewers: Sequence[PlanReviewer],
    wanted: Callable[[int], int],
    seed: str,
) -> tuple[list[Dealt], list[AgentCount]]:
    """Draw the conversations of a week.

    The same candidates, in any order, and the same seed give the same draw.

    Args:
        candidates: those that no reviewer may see are left out.
        wanted: returns how many are wanted of so many conversations of an agent.
    """
    random = Random(seed)  # noqa: S311 - a draw is to be repeatable, not secret
    seen = [item for item in candidates if any(person.may_see(item) for person in reviewers)]
    by_agent = groupby(
        sorted(seen, key=lambda item: (item.executive_id, item.source_id)),
        key=lambda item: item.executive_id,
    )
    drawn: list[Candidate] = []
    counts: list[AgentCount] = []
    for executive_id, group in by_agent:
        pool = list(group)
        number = wanted(len(pool))
        chosen = random.sample(pool, min(number, len(pool)))
        drawn += chosen
        counts.append(AgentCount(executive_id, pool[0].executive, len(pool), number, len(chosen)))
    random.shuffle(drawn)
    return _deal(drawn, reviewers), counts


def _deal(drawn: Sequence[Candidate], reviewers: Sequence[PlanReviewer]) -> list[Dealt]:
    """Deal conversations to those who may see them, by their shares, and over the days of a week."""
    held: Counter[str] = Counter()
    places: list[tuple[Candidate, str, int]] = []
    for candidate in drawn:
        able = [person for person in reviewers if person.may_see(candidate)]
        person = min(able, key=lambda able: (held[able.user_id] + 1) / able.share)
        places.append((candidate, person.user_id, held[person.user_id]))
        held[person.user_id] += 1
    return [
        Dealt(candidate, user_id, place * _DAYS // held[user_id])
        for candidate, user_id, place in places
    ]
