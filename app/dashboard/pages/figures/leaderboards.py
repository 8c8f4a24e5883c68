"""Leaderboards of executives, campaigns and call centres, one executive, and comparisons."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from flask import render_template

from app.analytics.engine.reader import FactReader, open_facts
from app.analytics.engine.selection import Selection
from app.analytics.enums import Granularity, GroupBy, TrendMetric
from app.analytics.reports import leaderboards, summary, trends
from app.analytics.schemas.leaderboards import LeaderboardQuery
from app.core.database.paging import Page, PageRequest
from app.core.errors import InvalidInput
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.intervals import interval_chart
from app.dashboard.charts.trend import trend_chart
from app.dashboard.counts import listed
from app.dashboard.queries import filters_of_request
from app.dashboard.views import filters
from app.dashboard.views.figures import leaderboards as board_views
from app.dashboard.views.figures import overview as overview_views
from app.dashboard.views.figures import trends as trend_views
from app.directory.service import EXECUTIVES
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("leaderboards", __name__)

_PAGE_SIZE = "50"
_MOST_COMPARED = 4
_MOST_LOWEST = 3
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


@blp.get("/executives/<id:executive_id>")
@require_scope("analytics:read")
def executive(executive_id: str) -> str:
    """Show one executive: figures, trend, strength, weaknesses and lowest conversations."""
    given = filters_of_request(for_figures=True)
    chosen = replace(given, texts={**given.texts, "executiveId": executive_id})
    loaded = chosen.load(_SCHEMA)
    selection = chosen.selection(loaded)
    how = {"min_evaluations": loaded["min_evaluations"], "compare": True}
    with open_facts(current_runtime()) as facts:
        found = leaderboards.executives(facts, selection, _ONE, **how)
        figures = summary.summarize(facts, selection, **how)
        trend = _score_trend(facts, selection, GroupBy.NONE)
        lowest = listed(
            facts.session,
            chosen.list_query(status="completed", sort="score", pageSize=str(_MOST_LOWEST)),
        )
        # Evaluations outlive the executives of the directory.
        member = found.items[0] if found.items else None
        name = member["name"] if member else EXECUTIVES.get(facts.session, executive_id).name
    return render_template(
        "leaderboards/executive.html",
        chosen=chosen,
        name=name,
        member=member,
        summary=figures,
        figures=overview_views.figures(figures, chosen.list_url),
        trend=trend_chart(
            trend_views.lines_of(trend, chosen.zone, chosen.list_url),
            label_of=lambda value: trend_views.metric_text("score", value),
            has_bars=True,
        ),
        lowest=lowest.items,
    )


@blp.get("/compare")
@require_scope("analytics:read")
def compare() -> str:
    """Compare 2 to 4 executives: means with their intervals, and which of them differ."""
    given = filters_of_request(for_figures=True)
    ids = list(dict.fromkeys(given.texts.get("executiveId", "").split(",")))
    if not 2 <= len(ids) <= _MOST_COMPARED:
        raise InvalidInput(f"Mark 2 to {_MOST_COMPARED} executives to compare.")
    others = {name: text for name, text in given.texts.items() if name != "executiveId"}
    chosen = replace(given, texts=others)
    loaded = chosen.load(_SCHEMA)
    selection = chosen.selection(loaded)
    how = {"min_evaluations": loaded["min_evaluations"], "compare": False}
    with open_facts(current_runtime()) as facts:
        pages = [
            leaderboards.executives(facts, replace(selection, executive_id=key), _ONE, **how)
            for key in ids
        ]
    members = [member for page in pages for member in page.items]
    estimates = board_views.estimates(
        members, lambda key: chosen.list_url(status="completed", hasVerdict="true", executiveId=key)
    )
    return render_template(
        "leaderboards/compare.html",
        chosen=chosen,
        chart=interval_chart(estimates),
        differences=board_views.differences(members),
        back=filters.url("/executives", chosen.texts),
    )


def _board(
    path: str,
    title: str,
    filter_name: str,
    group: GroupBy,
    list_members: Callable[..., Page[Any]],
    titles: Mapping[str, str],
) -> str:
    chosen = filters_of_request(for_figures=True)
    loaded = chosen.load(_SCHEMA, compare="previous_period", pageSize=_PAGE_SIZE)
    selection, least = chosen.selection(loaded), loaded["min_evaluations"]
    with open_facts(current_runtime()) as facts:
        page = list_members(
            facts, selection, loaded["page_request"], min_evaluations=least, compare=True
        )
        trend = _score_trend(facts, selection, group, limit=len(page.items) or 1)
    courses = {
        str(series["key"]): [point["value"] for point in series["points"]]
        for series in trend["series"]
    }
    return render_template(
        "leaderboards/board.html",
        title=title,
        path=path,
        chosen=chosen,
        page=page,
        boards=board_views.leaderboards(page.items, courses, min_evaluations=least, titles=titles),
        least=least,
        list_url=lambda key: chosen.list_url(status="completed", **{filter_name: key}),
        page_url=lambda number: filters.url(path, chosen.texts, page=str(number)),
        of_executives=group is GroupBy.EXECUTIVE,
        most_compared=_MOST_COMPARED,
    )


def _score_trend(
    facts: FactReader, selection: Selection, group: GroupBy, *, limit: int = 1
) -> dict[str, Any]:
    period = selection.period
    return trends.show(
        facts,
        selection,
        metric=TrendMetric.SCORE,
        granularity=Granularity(trend_views.granularity_for(period.start, period.end)),
        group_by=group,
        limit=limit,
    )
