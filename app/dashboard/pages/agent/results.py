"""Results of the signed-in agent: figures beside the team's, what is new, and disputes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import render_template

from app.agents import receipts
from app.analytics.engine.aggregates import Groups
from app.analytics.engine.reader import FactReader, open_facts
from app.analytics.engine.selection import Selection
from app.analytics.enums import Granularity
from app.analytics.reports.lowest import lowest_of_criteria
from app.analytics.reports.team import team_trend
from app.analytics.schemas.reports import LeaderboardQuery
from app.core.database.paging import PageRequest
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.trend import LineData, trend_chart
from app.dashboard.pages.figures import executive as page
from app.dashboard.pages.figures.trends import score_trend
from app.dashboard.queries import PageFilters, listed
from app.dashboard.views import trends
from app.dashboard.views.filters import url
from app.evaluations import listing
from app.people.gate import current_person
from app.people.roles import OWN_RESULTS
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("own_results", __name__)
_SCHEMA = LeaderboardQuery()
_MOST_NEW = 10
_MOST_CRITERIA = 3
_DISPUTES = "disputed,dispute_accepted,dispute_rejected"


@blp.get("/my/results")
@require_scope(OWN_RESULTS)
def show() -> str:
    """Show an agent their results."""
    executive_id = own_executive()
    if not executive_id:
        return render_template("agent/unlinked.html", title="My results")
    page_filters = page.filters_for(executive_id)
    loaded = page_filters.load(_SCHEMA)
    selection = page_filters.selection(loaded)
    with open_facts(current_runtime()) as facts:
        figures = page.figures_of(facts, page_filters, executive_id)
        count, newest = receipts.unseen(facts.session, current_person().user_id, limit=_MOST_NEW)
        unseen = (
            listing.list_page(facts.session, PageRequest(), ids=tuple(newest)) if newest else None
        )
        disputes = listed(
            facts.session,
            page_filters.all_time_query(reviewStatus=_DISPUTES, pageSize=str(_MOST_NEW)),
        )
        strongest, highest = _strongest(facts, selection, loaded["min_evaluations"])
        own_trend = score_trend(facts, selection)
    return render_template(
        "agent/results.html",
        page_filters=page_filters,
        executive=figures,
        strongest=strongest,
        highest=highest,
        # Beside figures of their own alone: the team's tell nothing about what is not theirs.
        place=page.own_place(page_filters, executive_id) if figures.member else None,
        trend=_chart(page_filters, selection, executive_id, own_trend) if figures.member else None,
        new_count=count,
        new=unseen.items if unseen else (),
        disputes=disputes.items,
        sheet_url=url(f"/executives/{executive_id}/sheet", page_filters.texts, executiveId=None),
    )


def own_executive() -> str:
    """Return the executive that the signed-in agent is, or an empty text."""
    teams = current_person().teams
    return teams.executive_ids[0] if teams and teams.executive_ids else ""


def _strongest(
    facts: FactReader, selection: Selection, at_least: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the criteria with the highest means, and the best conversations of each."""
    groups = Groups(facts, selection)
    aggregates = groups.aggregates()
    if not aggregates:
        return [], {}
    groups.add_details(aggregates)
    means = aggregates[None].score_means.strongest(at_least=at_least, limit=_MOST_CRITERIA)
    rows = [
        {"key": mean.key, "title": mean.title, "mean_score": mean.mean, "evaluations": mean.count}
        for mean in means
    ]
    keys = [mean.key for mean in means]
    return rows, lowest_of_criteria(facts, selection, keys, highest=True)


def _chart(
    page_filters: PageFilters, selection: Selection, executive_id: str, trend: dict[str, Any]
) -> Chart | None:
    """Draw the scores of the agent and of the team; the team's points have no links."""
    [own] = trends.lines_of(trend, page_filters.zone, page_filters.list_url)
    lines: list[LineData] = [replace(own, name="You")]
    granularity = Granularity(trend["granularity"])
    points = team_trend(current_runtime(), selection, executive_id, granularity)
    if any(point["count"] for point in points):
        lines.append(_team_line(trend, points, page_filters))
    return trend_chart(
        lines,
        label_of=lambda value: trends.metric_text("score", value),
        highest=trends.highest_of("score"),
        has_bars=True,
    )


def _team_line(
    trend: dict[str, Any], points: Sequence[dict[str, Any]], page_filters: PageFilters
) -> LineData:
    of_team = {**trend, "series": [{"key": "team", "points": points}]}
    [line] = trends.lines_of(of_team, page_filters.zone, page_filters.list_url)
    return LineData("Your team", tuple(replace(point, href=None) for point in line.points))
