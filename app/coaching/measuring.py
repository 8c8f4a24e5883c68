"""Measuring: what changed after a coaching session for the agent, and meanwhile for the team."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Period, Selection
from app.analytics.reports.lowest import score_of
from app.coaching.effect import LEAST, Difference, Scores, difference
from app.coaching.enums import SessionState
from app.core.principal import current_teams
from app.scorecards import service as scorecards

WINDOW = timedelta(days=30)
_TOO_FEW = f"not enough conversations yet: {LEAST} are needed before and after"


def effects_of(facts: FactReader, coaching: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, for each criterion of a session, its scores in the 30 days before and after, compared.

    The team is the others of the call centre; an agent is not told about them here.
    """
    if coaching["state"] == SessionState.PLANNED:
        return []
    keys, at = coaching["criteria"], coaching["at"]
    zone = ZoneInfo("UTC")
    periods = (Period(at - WINDOW, at, zone), Period(at, at + WINDOW, zone))
    own = [
        _scores(facts, period, keys, executive_id=coaching["executive_id"]) for period in periods
    ]
    team = [dict[str, Scores](), dict[str, Scores]()]
    teams, center_id = current_teams(), coaching["call_center_id"]
    if center_id is not None and not (teams and teams.released_only):
        team = [_scores(facts, period, keys, call_center_id=center_id) for period in periods]
    scorecard = scorecards.find(facts.session, coaching["scorecard_id"]).scorecard
    titles = {criterion.key: criterion.title for criterion in scorecard.criteria}
    return [
        {
            "key": key,
            "title": titles.get(key, key),
            **_compared(*(scores[key] for scores in own)),
            "team": _shown(
                difference(
                    *(of_team[key] - scores[key] for of_team, scores in zip(team, own, strict=True))
                )
            )
            if all(team)
            else None,
        }
        for key in keys
    ]


def _compared(before: Scores, after: Scores) -> dict[str, Any]:
    found = difference(before, after)
    sides = {"before": before, "after": after}
    return {
        **{
            name: {
                "mean": round(side.total / side.count, 2) if side.count else None,
                "count": side.count,
            }
            for name, side in sides.items()
        },
        "is_share": not before.between + after.between,
        "difference": _shown(found),
        "missing": None if found else _TOO_FEW,
    }


def _shown(found: Difference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    values = {name: round(getattr(found, name), 2) for name in ("value", "low", "high")}
    return {**values, "is_clear": found.is_clear}


def _scores(
    facts: FactReader, period: Period, keys: Sequence[str], **who: Any
) -> dict[str, Scores]:
    numbers = tuple(
        number
        for key in keys
        for score in [f"({score_of(facts, key)})::DOUBLE"]
        for number in (
            f"count({score})",
            f"coalesce(sum({score}), 0)",
            f"coalesce(sum({score} * {score}), 0)",
            f"count(*) FILTER ({score} NOT IN (0, 100))",
        )
    )
    groups = facts.aggregate(Selection(period, **who), Aggregation(numbers=numbers))
    if not groups:
        return {key: Scores() for key in keys}
    [found] = groups.values()
    return {
        key: Scores(int(count), float(total), float(squares), int(between))
        for key, (count, total, squares, between) in zip(
            keys, (found[place : place + 4] for place in range(0, len(found), 4)), strict=True
        )
    }
