"""Measuring: what changed after a coaching session for the agent, and meanwhile for the team."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select

from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Period, Selection
from app.analytics.reports.lowest import score_of
from app.analytics.reports.team import FEWEST_PEOPLE
from app.coaching.effect import LEAST, Difference, Scores, difference
from app.coaching.enums import SessionState
from app.core.principal import current_teams, limited_to
from app.directory.enums import ExecutiveKind
from app.directory.models import Executive
from app.scorecards import service as scorecards

WINDOW = timedelta(days=30)
_WHOLE = "CASE WHEN passed IS NOT NULL THEN score END"
_TOO_FEW = f"not enough conversations yet: {LEAST} are needed before and after"


def effects_of(facts: FactReader, coaching: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, for each criterion of a session, its scores in the 30 days before and after, compared."""
    if coaching["state"] == SessionState.PLANNED:
        return []
    keys, at = coaching["criteria"], coaching["at"]
    zone = ZoneInfo("UTC")
    periods = (Period(at - WINDOW, at, zone), Period(at, at + WINDOW, zone))
    nothing = {key: Scores() for key in keys}
    own = [
        scores_by(facts, period, keys, executive_id=coaching["executive_id"]).get((), nothing)
        for period in periods
    ]
    others = _others(facts, coaching, periods)
    scorecard = scorecards.find(facts.session, coaching["scorecard_id"]).scorecard
    titles = {criterion.key: criterion.title for criterion in scorecard.criteria}
    return [
        {
            "key": key,
            "title": titles.get(key, key),
            **_compared(*(scores[key] for scores in own)),
            "team": _shown(difference(*(scores[key] for scores in others))) if others else None,
        }
        for key in keys
    ]


def _others(
    facts: FactReader, coaching: Mapping[str, Any], periods: Sequence[Period]
) -> list[dict[str | None, Scores]]:
    """Return the scores before and after of the others of the call centre who have some on both sides.

    For an agent, whose limit is lifted, they are at least five, of their call centre or else of all: the
    change of few would say too much about each. Empty without others.
    """
    teams, center_id = current_teams(), coaching["call_center_id"]
    is_agent = teams is not None and teams.released_only
    with limited_to(None if is_agent else teams):
        bots = facts.session.scalars(
            select(Executive.id).where(Executive.kind == ExecutiveKind.BOT)
        )
        no_others = {(coaching["executive_id"],), (None,), *((bot,) for bot in bots)}
        for of_center in dict.fromkeys((center_id, None) if is_agent else (center_id,)):
            if of_center is None and not is_agent:
                return []
            sides = [
                scores_by(
                    facts, period, coaching["criteria"], "executive_id", call_center_id=of_center
                )
                for period in periods
            ]
            people = (sides[0].keys() & sides[1].keys()) - no_others
            if len(people) >= (FEWEST_PEOPLE if is_agent else 1):
                return [
                    {
                        key: sum((side[person][key] for person in people), Scores())
                        for key in coaching["criteria"]
                    }
                    for side in sides
                ]
    return []


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


def scores_by(
    facts: FactReader, period: Period, keys: Sequence[str | None], *columns: str, **who: Any
) -> dict[tuple[Any, ...], dict[str | None, Scores]]:
    """Return the scores of each criterion in a period, by the values of these columns.

    Args:
        keys: None is the score of the whole evaluation, where it has a verdict.
    """
    numbers = tuple(
        number
        for key in keys
        for score in [f"({_WHOLE if key is None else score_of(facts, key)})::DOUBLE"]
        for number in (
            f"count({score})",
            f"coalesce(sum({score}), 0)",
            f"coalesce(sum({score} * {score}), 0)",
            f"count(*) FILTER ({score} NOT IN (0, 100))",
        )
    )
    groups = facts.aggregate(Selection(period, **who), Aggregation(columns, numbers))
    return {
        group: {
            key: Scores(int(count), float(total), float(squares), int(between))
            for key, (count, total, squares, between) in zip(
                keys, (found[place : place + 4] for place in range(0, len(found), 4)), strict=True
            )
        }
        for group, found in groups.items()
    }
