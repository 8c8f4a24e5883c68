"""Pages of one executive: figures, trend and lowest conversations, and a sheet to print."""

from dataclasses import dataclass, replace
from typing import Any

from flask import render_template
from sqlalchemy.orm import Session

from app.analytics.engine.reader import FactReader, open_facts
from app.analytics.reports import leaderboards, summary
from app.analytics.reports.lowest import CriterionScore, lowest_of_criteria
from app.analytics.reports.team import TeamPlace, team_place
from app.analytics.schemas.reports import LeaderboardQuery
from app.coaching import progress
from app.coaching import service as coaching
from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.chart import Chart
from app.dashboard.charts.scales import Frame
from app.dashboard.navigation import request_texts
from app.dashboard.pages.audited import note_opened
from app.dashboard.pages.figures.trends import SHEET_FRAME, score_chart, score_trend
from app.dashboard.queries import PageFilters, filters_of_request, listed
from app.dashboard.views import figures, sheets
from app.dashboard.views.figures import Figure
from app.dashboard.views.filters import carried, url
from app.dashboard.views.sheets import AdvisedConversation
from app.directory.service import EXECUTIVES
from app.evaluations import results, service
from app.people.gate import current_person
from app.web.current import current_runtime
from app.web.principal import check_scope, current_principal

blp = PageBlueprint(
    "executive", __name__, url_prefix="/executives/<id:executive_id>", scope="analytics:read"
)

_MOST_LOWEST = 3
# The newest conversations, from which a sheet takes its advice.
_MOST_ADVISED = 20
_ONE = PageRequest(1, 1, "rank")
_SCHEMA = LeaderboardQuery()


@dataclass(frozen=True, slots=True)
class ExecutiveFigures:
    """The figures of one executive; `member` is None where nothing was judged in the period.

    `lowest_of_criteria` has the weakest ones.
    """

    name: str
    member: Any
    summary: Any
    lowest_of_criteria: dict[str, list[CriterionScore]]
    headline: list[Figure]
    trend: Chart | None


@blp.get("")
def show(executive_id: str) -> str:
    """Show one executive: figures, trend, strength, weaknesses and lowest conversations."""
    page_filters = filters_for(executive_id)
    with open_facts(current_runtime()) as facts:
        executive = figures_of(facts, page_filters, executive_id)
        lowest = listed(
            facts.session,
            page_filters.list_query(status="completed", sort="score", pageSize=str(_MOST_LOWEST)),
        )
        goals = _goals(facts, executive_id)
    return render_template(
        "executives/show.html",
        page_filters=page_filters,
        executive=executive,
        place=own_place(page_filters, executive_id) if executive.member else None,
        lowest=lowest.items,
        **goals,
        sheet_url=url(f"/executives/{executive_id}/sheet", carried(request_texts())),
    )


@blp.get("/sheet")
def show_sheet(executive_id: str) -> str:
    """Show what a talk with an executive needs on paper: figures, trend and advice with quotes."""
    check_scope("evaluations:read")
    page_filters = filters_for(executive_id)
    with open_facts(current_runtime()) as facts:
        executive = figures_of(facts, page_filters, executive_id, SHEET_FRAME)
        newest = listed(
            facts.session,
            page_filters.list_query(status="completed", pageSize=str(_MOST_ADVISED)),
        )
        conversations = [_advised(facts.session, row) for row in newest.items]
    strengths = sheets.frequent_advice(conversations, "strengths")
    improvements = sheets.frequent_advice(conversations, "improvements")
    note_opened({advice.evaluation_id for advice in (*strengths, *improvements)})
    return render_template(
        "executives/sheet.html",
        page_filters=page_filters,
        executive=executive,
        strengths=strengths,
        improvements=improvements,
        conversation_count=len(conversations),
    )


def filters_for(executive_id: str) -> PageFilters:
    page_filters = filters_of_request(for_figures=True)
    return replace(page_filters, texts={**page_filters.texts, "executiveId": executive_id})


def figures_of(
    facts: FactReader, page_filters: PageFilters, executive_id: str, frame: Frame | None = None
) -> ExecutiveFigures:
    """Return the figures of an executive, with the drawn course of their score."""
    loaded = page_filters.load(_SCHEMA)
    selection = page_filters.selection(loaded)
    options = {"min_evaluations": loaded["min_evaluations"], "compare": True}
    members = leaderboards.executives(facts, selection, _ONE, **options).items
    totals = summary.summarize(facts, selection, **options)
    weakest = [criterion["key"] for criterion in totals["weakest_criteria"]]
    # Evaluations outlive the executives of the directory.
    member = members[0] if members else None
    return ExecutiveFigures(
        name=member["name"] if member else EXECUTIVES.get(facts.session, executive_id).name,
        member=member,
        summary=totals,
        lowest_of_criteria=lowest_of_criteria(facts, selection, weakest),
        headline=figures.headline(totals, page_filters.list_url),
        trend=score_chart(score_trend(facts, selection), page_filters, frame),
    )


def _goals(facts: FactReader, executive_id: str) -> dict[str, Any]:
    """Return the goals of an executive with their progress, for those who may read them."""
    if "coaching:read" not in current_principal().scopes:
        return {"goals": (), "targets": ()}
    found = progress.goals_of(facts, utc_now(), executive_id=executive_id)
    return {**found, **coaching.words_of(facts.session, *found["goals"])}


def own_place(page_filters: PageFilters, executive_id: str) -> TeamPlace | None:
    """Return the place of an agent in their call centre; None on the pages of others."""
    teams = current_person().teams
    if teams is None or teams.executive_ids != (executive_id,):
        return None
    loaded = page_filters.load(_SCHEMA)
    return team_place(
        current_runtime(),
        page_filters.selection(loaded),
        executive_id,
        min_evaluations=loaded["min_evaluations"],
    )


def _advised(session: Session, row: Any) -> AdvisedConversation:
    document = results.results_of(session, service.find(session, row["id"]))
    return AdvisedConversation.of(row, document)
