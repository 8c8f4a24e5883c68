"""Team of an agent: the mean of its people, whom nothing names, and the place of the agent among them.

The limit of the caller's teams is lifted for it. Few people are no team: their mean would say too
much about each.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from app.analytics.engine.aggregates import Groups
from app.analytics.engine.reader import FactReader, open_facts, unreleased
from app.analytics.engine.selection import Selection
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.reports import trends
from app.analytics.reports.leaderboards import members_of, rank
from app.core.principal import limited_to
from app.core.runtime import Runtime
from app.directory.service import EXECUTIVES

FEWEST_PEOPLE = 5
_MOST_PEOPLE = 10_000


@dataclass(frozen=True, slots=True)
class TeamPlace:
    """The mean score of the people of a team, and the third of them in which one is.

    The team is a call centre, or with `is_everybody` all of them. The upper third is 0; None is
    without a rank.
    """

    people: int
    mean_score: float
    third: int | None
    is_everybody: bool


@dataclass(frozen=True, slots=True)
class _Team:
    """The people of a team with a verdict, and the selection of what they did."""

    facts: FactReader
    selection: Selection
    people: Sequence[dict[str, Any]]


def team_place(
    runtime: Runtime, selection: Selection, executive_id: str, *, min_evaluations: int
) -> TeamPlace | None:
    """Place an executive among the people of their team; None where they are few."""
    with _opened(runtime, selection, executive_id) as team:
        if team is None:
            return None
        people = team.people
        rank(people, min_evaluations)
    ranks = {member["id"]: member["rank"] for member in people if member["rank"]}
    total = sum(member["score_sum"] for member in people)
    return TeamPlace(
        people=len(people),
        mean_score=total / sum(member["with_verdict"] for member in people),
        third=3 * (ranks[executive_id] - 1) // len(ranks) if executive_id in ranks else None,
        is_everybody=team.selection.call_center_id is None,
    )


def team_trend(
    runtime: Runtime, selection: Selection, executive_id: str, granularity: Granularity
) -> list[dict[str, Any]]:
    """Return the mean score of the team over time, where enough of its people have one."""
    with _opened(runtime, selection, executive_id) as team:
        if team is None:
            return []
        trend = trends.show(
            team.facts,
            team.selection,
            metric=TrendMetric.SCORE,
            granularity=granularity,
            group_by=GroupBy.EXECUTIVE,
            limit=_MOST_PEOPLE,
        )
    ids = {member["id"] for member in team.people}
    by_step = zip(
        *(series["points"] for series in trend["series"] if series["key"] in ids), strict=True
    )
    return [_mean_of(points) for points in by_step]


def _mean_of(points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the point of a team from those of its people at one step."""
    known = [point for point in points if point["count"]]
    count = sum(point["count"] for point in known)
    if len(known) < FEWEST_PEOPLE:
        return {**points[0], "value": None, "count": 0}
    total = sum(point["value"] * point["count"] for point in known)
    return {**points[0], "value": total / count, "count": count}


@contextmanager
def _opened(runtime: Runtime, selection: Selection, executive_id: str) -> Iterator[_Team | None]:
    """Open the facts of the team of an executive: of their call centre, or where that is small of all."""
    with runtime.db.reading() as session:
        left_out = unreleased(session)
    with limited_to(None), open_facts(runtime, left_out) as facts:
        center_id = EXECUTIVES.get(facts.session, executive_id).call_center_id
        for chosen in dict.fromkeys((center_id, None)):
            team = replace(selection, executive_id=None, call_center_id=chosen)
            members = members_of(
                facts, "executive", Groups(facts, team, "executive_id").aggregates()
            )
            people = [
                member for member in members if member["kind"] == "human" and member["with_verdict"]
            ]
            if len(people) >= FEWEST_PEOPLE:
                yield _Team(facts, team, people)
                return
        yield None
