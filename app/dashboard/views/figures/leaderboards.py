"""Leaderboards: who is ranked, who has too few evaluations for it, and who differs from whom."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from app.dashboard.charts.heat import HeatCell, shade_of
from app.dashboard.charts.intervals import MeanEstimate
from app.dashboard.charts.sparkline import Sparkline, sparkline
from app.dashboard.views import formatting
from app.dashboard.views.figures.changes import Change, MeasuredMean, change_of

_HIGHEST_SCORE = 100.0


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One member; `missing` is how many evaluations a rank needs beyond those there are."""

    id: str
    name: str
    rank: int | None
    count: int
    missing: int
    adjusted: str
    interval: str
    change: Change | None
    passed: str
    cells: tuple[HeatCell, ...]
    course: Sparkline | None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The ranked members of one kind, and those below the line."""

    title: str
    sections: tuple[str, ...]
    ranked: tuple[LeaderboardRow, ...]
    unranked: tuple[LeaderboardRow, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two members, and by how much the first is above the second."""

    first: str
    second: str
    change: Change


def leaderboards(
    members: Sequence[Mapping[str, Any]],
    courses: Mapping[str, Sequence[float | None]],
    *,
    min_evaluations: int,
    titles: Mapping[str, str],
) -> list[Leaderboard]:
    """Return a leaderboard for each kind that has members.

    Args:
        courses: mean scores over time by id, for sparklines.
        titles: the title of each kind of member, in the order of the page.
    """
    boards = []
    for kind, title in titles.items():
        of_kind = [member for member in members if member["kind"] == kind]
        if not of_kind:
            continue
        keys = _section_keys(of_kind)
        rows = [_row(member, keys, courses, min_evaluations) for member in of_kind]
        boards.append(
            Leaderboard(
                title=title,
                sections=tuple(key.replace("_", " ").capitalize() for key in keys),
                ranked=tuple(row for row in rows if row.rank is not None),
                unranked=tuple(row for row in rows if row.rank is None),
            )
        )
    return boards


def mean_of(member: Mapping[str, Any]) -> MeasuredMean | None:
    """Return the mean score of a member; None without evaluations with a verdict."""
    if not member["with_verdict"]:
        return None
    return MeasuredMean(member["mean_score"], member["stdev"], member["with_verdict"])


def estimates(
    members: Sequence[Mapping[str, Any]], href_of: Callable[[str], str]
) -> list[MeanEstimate]:
    """Return the means of members with their 95 % intervals; those without a score are left out."""
    return [
        MeanEstimate(
            member["name"],
            mean.mean,
            max(0.0, mean.mean - mean.half_width),
            min(_HIGHEST_SCORE, mean.mean + mean.half_width),
            mean.count,
            href_of(member["id"]),
        )
        for member in members
        if (mean := mean_of(member))
    ]


def differences(members: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Return the difference of every two members that have scores."""
    return [
        Difference(first["name"], second["name"], change)
        for first, second in combinations(members, 2)
        if (change := change_of(mean_of(first), mean_of(second)))
    ]


def moved_mean(mean: MeasuredMean | None, change: Mapping[str, Any] | None) -> Change | None:
    """Return the change of a mean since the period before, None where that is not known.

    The period before is taken to have as many evaluations, spread as widely.
    """
    difference = change["mean_score"] if change else None
    if mean is None or difference is None:
        return None
    return change_of(mean, replace(mean, mean=mean.mean - difference))


def _section_keys(members: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = (section["key"] for member in members for section in member["sections"])
    return list(dict.fromkeys(keys))


def _row(
    member: Mapping[str, Any],
    keys: Sequence[str],
    courses: Mapping[str, Sequence[float | None]],
    min_evaluations: int,
) -> LeaderboardRow:
    scores = {section["key"]: section["mean_score"] for section in member["sections"]}
    mean = mean_of(member)
    return LeaderboardRow(
        id=member["id"],
        name=member["name"],
        rank=member["rank"],
        count=member["evaluations"],
        missing=max(0, min_evaluations - member["with_verdict"]),
        adjusted=formatting.number(member["adjusted_score"], 1),
        interval="" if mean is None else f"± {formatting.number(mean.half_width, 1)}",
        change=moved_mean(mean, member["change"]),
        passed=formatting.percent(member["pass_rate"]),
        cells=tuple(
            HeatCell(formatting.number(scores.get(key)), shade_of(scores.get(key), 0, 100))
            for key in keys
        ),
        course=sparkline(courses.get(member["id"], ())),
    )
