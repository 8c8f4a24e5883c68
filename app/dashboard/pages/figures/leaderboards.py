"""Leaderboards of executives, campaigns and call centres, and comparisons."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flask import render_template

from app.analytics.engine.reader import open_facts
from app.analytics.enums import GroupBy
from app.analytics.reports import leaderboards
from app.analytics.schemas.leaderboards import LeaderboardQuery
from app.core.database.paging import Page, PageRequest
from app.core.errors import InvalidInput
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.intervals import interval_chart
from app.dashboard.pages.figures.score_trends import score_trend
from app.dashboard.queries import filters_of_request
from app.dashboard.views import filters
from app.dashboard.views.figures import leaderboards as board_views
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("leaderboards", __name__)

_PAGE_SIZE = "50"
_MOST_COMPARED = 4
_ONE = PageRequest(1, 1, "rank")
_SCHEMA = LeaderboardQuery()
_EXECUTIVE_TITLES = {"human": "People", "bot": "Bots"}


@blp.get("/executives")
@require_scope("analytics:read")
def executives() -> str:
    """Rank people and bots, each among themselves."""
    return _board(
        "/executives",
        "Executives",
        "executiveId",
        GroupBy.EXECUTIVE,
        leaderboards.executives,
        _EXECUTIVE_TITLES,
    )


@blp.get("/campaigns")
@require_scope("analytics:read")
def campaigns() -> str:
    """Rank the campaigns."""
    return _board(
        "/campaigns",
        "Campaigns",
        "campaignId",
        GroupBy.CAMPAIGN,
        leaderboards.campaigns,
        {"human": ""},
    )


@blp.get("/call-centers")
@require_scope("analytics:read")
def call_centers() -> str:
    """Rank the call centres."""
    return _board(
        "/call-centers",
        "Call centres",
        "callCenterId",
        GroupBy.CALL_CENTER,
        leaderboards.call_centers,
        {"human": ""},
    )


@blp.get("/compare")
@require_scope("analytics:read")
def compare() -> str:
    """Compare 2 to 4 executives: means with their intervals, and which of them differ."""
    marked = filters_of_request(for_figures=True)
    ids = list(dict.fromkeys(marked.texts.get("executiveId", "").split(",")))
    if not 2 <= len(ids) <= _MOST_COMPARED:
        raise InvalidInput(f"Mark 2 to {_MOST_COMPARED} executives to compare.")
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
    estimates = board_views.estimates(
        members,
        lambda key: page_filters.list_url(status="completed", hasVerdict="true", executiveId=key),
    )
    return render_template(
        "leaderboards/compare.html",
        page_filters=page_filters,
        chart=interval_chart(estimates),
        differences=board_views.differences(members),
        back=filters.url("/executives", page_filters.texts),
    )


def _board(
    path: str,
    title: str,
    filter_name: str,
    group: GroupBy,
    list_members: Callable[..., Page[Any]],
    titles: Mapping[str, str],
) -> str:
    page_filters = filters_of_request(for_figures=True)
    loaded = page_filters.load(_SCHEMA, compare="previous_period", pageSize=_PAGE_SIZE)
    selection, least = page_filters.selection(loaded), loaded["min_evaluations"]
    with open_facts(current_runtime()) as facts:
        page = list_members(
            facts, selection, loaded["page_request"], min_evaluations=least, compare=True
        )
        trend = score_trend(facts, selection, group, limit=len(page.items) or 1)
    courses = {
        str(series["key"]): [point["value"] for point in series["points"]]
        for series in trend["series"]
    }
    return render_template(
        "leaderboards/board.html",
        title=title,
        path=path,
        page_filters=page_filters,
        page=page,
        boards=board_views.leaderboards(page.items, courses, min_evaluations=least, titles=titles),
        least=least,
        list_url=lambda key: page_filters.list_url(status="completed", **{filter_name: key}),
        of_executives=group is GroupBy.EXECUTIVE,
        most_compared=_MOST_COMPARED,
    )
