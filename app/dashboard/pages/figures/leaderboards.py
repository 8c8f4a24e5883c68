"""Leaderboards: who is ranked, who has too few evaluations for it, and who differs from whom."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.analytics.engine.reader import open_facts
from app.analytics.enums import GroupBy
from app.analytics.reports import leaderboards
from app.analytics.reports.means import Change, MeasuredMean, change_of
from app.analytics.schemas.reports import LeaderboardQuery
from app.core.database.paging import Page, PageRequest
from app.core.errors import InvalidInput
from app.core.json_documents import camel_case
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.scores import MeanEstimate, interval_chart
from app.dashboard.charts.tables import HeatCell, shade_of
from app.dashboard.charts.trend import Sparkline, sparkline
from app.dashboard.navigation import request_texts
from app.dashboard.pages.figures.trends import score_trend
from app.dashboard.pickers import options_of
from app.dashboard.queries import filters_of_request
from app.dashboard.views import filters, formatting
from app.dashboard.views.figures import moved_mean
from app.people.gate import current_person
from app.web.current import current_runtime

blp = PageBlueprint("leaderboards", __name__, scope="analytics:read")
_PAGE_SIZE = 100
# What a first use of a head sorts by.
_SORTS = ("rank", "name", "-evaluations", "-meanScore", "-passRate")
_MOST_COMPARED = 4
_ONE = PageRequest(1, 1, "rank")
_SCHEMA = LeaderboardQuery()
_UNTITLED = {"human": ""}
_TEAMS = ("callCenterId", "campaignId")
_BY_CALL_CENTER = "callCenter"


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One member; `missing` is how many evaluations a rank needs beyond those there are."""

    member: Mapping[str, Any]
    missing: int
    mean: MeasuredMean | None
    change: Change | None
    cells: tuple[HeatCell, ...]
    course: Sparkline | None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The ranked members of one kind, and those below the line."""

    title: str
    sections: tuple[str, ...]
    ranked: tuple[LeaderboardRow, ...]
    unranked: tuple[LeaderboardRow, ...]


@blp.get("/executives")
def executives() -> str | Response:
    """Rank people and bots, each among themselves; an agent is led to their own page."""
    teams = current_person().teams
    if teams is not None and any(teams.executive_ids):
        path = f"/executives/{teams.executive_ids[0]}"
        return redirect(filters.url(path, filters.carried(request_texts())), 303)
    titles = {"human": "People", "bot": "Bots"}
    return _board("Agents", GroupBy.EXECUTIVE, leaderboards.executives, titles)


@blp.get("/campaigns")
def campaigns() -> str:
    """Rank the campaigns."""
    return _board("Campaigns", GroupBy.CAMPAIGN, leaderboards.campaigns)


@blp.get("/call-centers")
def call_centers() -> str:
    """Rank the call centres."""
    return _board("Call centres", GroupBy.CALL_CENTER, leaderboards.call_centers)


@blp.get("/compare")
def compare() -> str:
    """Compare 2 to 4 executives: means with their intervals, and which of them differ."""
    marked = filters_of_request(for_figures=True)
    ids = list(dict.fromkeys(marked.texts.get("executiveId", "").split(",")))
    if not 2 <= len(ids) <= _MOST_COMPARED:
        raise InvalidInput(f"Mark 2 to {_MOST_COMPARED} agents to compare.")
    page_filters = replace(marked, texts=filters.without(marked.texts, ("executiveId",)))
    loaded = page_filters.load(_SCHEMA)
    selection = page_filters.selection(loaded)
    options = {"min_evaluations": loaded["min_evaluations"], "compare": False}
    with open_facts(current_runtime()) as facts:
        pages = [
            leaderboards.executives(facts, replace(selection, executive_id=key), _ONE, **options)
            for key in ids
        ]
    members = [member for page in pages for member in page.items]
    return render_template(
        "leaderboards/compare.html",
        page_filters=page_filters,
        chart=interval_chart(
            _estimates(
                members,
                lambda key: page_filters.list_url(
                    status="completed", hasVerdict="true", executiveId=key
                ),
            )
        ),
        differences=_differences(members),
        back=filters.url("/executives", page_filters.texts),
    )


def _board(
    title: str,
    group: GroupBy,
    list_members: Callable[..., Page[Any]],
    titles: Mapping[str, str] = _UNTITLED,
) -> str:
    page_filters = filters_of_request(for_figures=True)
    loaded = page_filters.load(_SCHEMA, compare="previous_period")
    selection, least = page_filters.selection(loaded), loaded["min_evaluations"]
    named = page_filters.texts.get("name", "").strip()
    with open_facts(current_runtime()) as facts:
        page = list_members(
            facts,
            selection,
            replace(loaded["page_request"], page_size=_PAGE_SIZE),
            min_evaluations=least,
            compare=True,
            named=named,
        )
        trend = score_trend(facts, selection, group, limit=_PAGE_SIZE)
        options = options_of(facts.session, page_filters.texts)
    by_call_center = page_filters.texts.get("group") == _BY_CALL_CENTER
    courses = {
        str(series["key"]): [point["value"] for point in series["points"]]
        for series in trend["series"]
    }
    return render_template(
        "leaderboards/board.html",
        title=title,
        path=request.path,
        named=named,
        heads=filters.sort_heads(request.path, page_filters.texts, *_SORTS, usual="rank"),
        lowest_url=filters.url(request.path, page_filters.texts, sort="-rank", page=None),
        page_filters=page_filters,
        page=page,
        boards=_boards(
            page.items,
            courses,
            min_evaluations=least,
            titles=titles,
            by_call_center=by_call_center and group is GroupBy.EXECUTIVE,
        ),
        teams=[
            field
            for field in filters.FIELDS
            if field.name in _TEAMS and field.name != f"{camel_case(group)}Id"
        ],
        options=options,
        by_call_center=by_call_center,
        least=least,
        list_url=lambda key: page_filters.list_url(
            status="completed", hasVerdict="true", **{f"{group}Id": key}
        ),
        page_of=page_filters.executive_url
        if group is GroupBy.EXECUTIVE
        else lambda key: filters.url(
            "/", filters.carried(page_filters.texts), **{f"{group}Id": key}
        ),
        of_executives=group is GroupBy.EXECUTIVE,
        most_compared=_MOST_COMPARED,
    )


def _boards(
    members: Sequence[Mapping[str, Any]],
    courses: Mapping[str, Sequence[float | None]],
    *,
    min_evaluations: int,
    titles: Mapping[str, str],
    by_call_center: bool,
) -> list[Leaderboard]:
    """Return a leaderboard for each kind that has members.

    Args:
        courses: mean scores over time by id, for sparklines.
        titles: the title of each kind of member, in the order of the page.
        by_call_center: people have a leaderboard for each call centre, with their ranks among all.
    """
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for kind, title in titles.items():
        of_kind = [member for member in members if member["kind"] == kind]
        is_split = by_call_center and kind == "human"
        for member in sorted(of_kind, key=_call_center) if is_split else of_kind:
            parts.setdefault(_call_center(member) if is_split else title, []).append(member)
    boards = []
    for title, of_part in parts.items():
        sections = [section for member in of_part for section in member["sections"]]
        keys = list(dict.fromkeys(section["key"] for section in sections))
        rows = [_row(member, keys, courses, min_evaluations) for member in of_part]
        boards.append(
            Leaderboard(
                title=title,
                sections=tuple(key.replace("_", " ").capitalize() for key in keys),
                ranked=tuple(row for row in rows if row.member["rank"] is not None),
                unranked=tuple(row for row in rows if row.member["rank"] is None),
            )
        )
    return boards


def _call_center(member: Mapping[str, Any]) -> str:
    return member["call_center"] or "No call centre"


def _row(
    member: Mapping[str, Any],
    keys: Sequence[str],
    courses: Mapping[str, Sequence[float | None]],
    min_evaluations: int,
) -> LeaderboardRow:
    scores = {section["key"]: section["mean_score"] for section in member["sections"]}
    mean = _mean_of(member)
    return LeaderboardRow(
        member=member,
        missing=max(0, min_evaluations - member["with_verdict"]),
        mean=mean,
        change=moved_mean(mean, member["change"]),
        cells=tuple(
            HeatCell(formatting.number(scores.get(key)), shade_of(scores.get(key), 100))
            for key in keys
        ),
        course=sparkline(courses.get(member["id"], ())),
    )


def _estimates(
    members: Sequence[Mapping[str, Any]], href_of: Callable[[str], str]
) -> list[MeanEstimate]:
    """Return the means of members with their 95 % intervals; those without a score are left out."""
    return [
        MeanEstimate(
            member["name"],
            mean.mean,
            max(0.0, mean.mean - mean.half_width),
            min(100.0, mean.mean + mean.half_width),
            mean.count,
            href_of(member["id"]),
        )
        for member in members
        if (mean := _mean_of(member))
    ]


def _differences(members: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Change]]:
    """Return the names of every two members with scores, and by how much the first is above the second."""
    return [
        (first["name"], second["name"], change)
        for first, second in combinations(members, 2)
        if (change := change_of(_mean_of(first), _mean_of(second)))
    ]


def _mean_of(member: Mapping[str, Any]) -> MeasuredMean | None:
    """Return the mean score of a member; None without evaluations with a verdict."""
    if not member["with_verdict"]:
        return None
    return MeasuredMean(member["mean_score"], member["stdev"], member["with_verdict"])
