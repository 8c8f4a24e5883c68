"""Progress of goals and of the targets of campaigns: the mean of the last 30 days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from app.analytics.engine.reader import FactReader
from app.analytics.engine.selection import Period
from app.campaigns import service as campaigns
from app.coaching.effect import LEAST, Scores
from app.coaching.measuring import WINDOW, scores_by
from app.coaching.service import GOALS
from app.core.database.paging import PageRequest

_NEWEST = PageRequest(page_size=100, sort="-at")
_MOST_CAMPAIGNS = PageRequest(page_size=100, sort="name")


@dataclass(frozen=True, slots=True)
class GoalProgress:
    """The mean of the last 30 days, or of those before the date of the goal, and of how many.

    `is_reached` is None with too few conversations to say.
    """

    value: float | None
    count: int
    is_reached: bool | None


@dataclass(frozen=True, slots=True)
class CampaignTarget:
    """The score that a campaign is to have, and where it stands."""

    campaign: str
    score: float
    progress: GoalProgress


def goals_of(facts: FactReader, now: datetime, **who: Any) -> dict[str, Any]:
    """Return the newest goals, their progress, and the targets of campaigns, by default of everybody."""
    goals = GOALS.list_page(facts.session, _NEWEST, **who).items
    return {
        "goals": goals,
        "progress": progress_of(facts, goals, now),
        "targets": targets_of(facts, now, **who),
    }


def progress_of(
    facts: FactReader, goals: Sequence[Mapping[str, Any]], now: datetime
) -> dict[str, GoalProgress]:
    """Return the progress of goals by their ids; goals of the same days are read together."""
    found: dict[str, GoalProgress] = {}
    for end in dict.fromkeys(min(goal["at"], now) for goal in goals):
        due = [goal for goal in goals if min(goal["at"], now) == end]
        keys = [*dict.fromkeys(goal["criterion"] for goal in due)]
        for column in ("executive_id", "call_center_id"):
            is_of_agent = column == "executive_id"
            own = [goal for goal in due if (goal["executive_id"] is not None) == is_of_agent]
            groups = scores_by(facts, _last_days(end), keys, column) if own else {}
            for goal in own:
                scores = groups.get((goal[column],), {}).get(goal["criterion"], Scores())
                found[goal["id"]] = _progress(scores, goal["start_value"], goal["target"])
    return found


def targets_of(facts: FactReader, now: datetime, **who: Any) -> list[CampaignTarget]:
    """Return the targets of the campaigns that there are conversations of, by default of everybody."""
    groups = scores_by(facts, _last_days(now), [None], "campaign_id", **who)
    if not groups:
        return []
    rows = campaigns.list_page(facts.session, _MOST_CAMPAIGNS).items
    return [
        CampaignTarget(
            row["name"], row["targets"]["score"], _progress(scores, 0, row["targets"]["score"])
        )
        for row in rows
        if (row["targets"] or {}).get("score") is not None
        if (scores := groups.get((row["id"],), {}).get(None)) is not None
    ]


def _last_days(end: datetime) -> Period:
    return Period(end - WINDOW, end, ZoneInfo("UTC"))


def _progress(scores: Scores, start: float, target: float) -> GoalProgress:
    if not scores.count:
        return GoalProgress(None, 0, None)
    value = scores.total / scores.count
    is_beyond = value >= target if target >= start else value <= target
    return GoalProgress(round(value, 2), scores.count, is_beyond if scores.count >= LEAST else None)
