"""Overview: whether quality holds, and what needs a person."""

from flask import render_template

from app.analytics.engine.reader import open_facts
from app.analytics.reports import leaderboards, summary
from app.analytics.schemas.query import AnalyticsQuery
from app.dashboard import situation
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.distribution import histogram
from app.dashboard.pages.figures.score_trends import score_chart, score_trend
from app.dashboard.pickers import pass_threshold
from app.dashboard.queries import filters_of_request
from app.dashboard.views.figures import overview
from app.dashboard.views.figures.alerts import alerts
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("overview", __name__)

_MIN_EVALUATIONS = 5


@blp.get("/")
@require_scope("analytics:read")
def show() -> str:
    """Show the figures of a period, compared with the period before."""
    page_filters, runtime = filters_of_request(for_figures=True), current_runtime()
    selection = page_filters.selection(page_filters.load(AnalyticsQuery()))
    with open_facts(runtime) as facts:
        figures = summary.summarize(
            facts, selection, min_evaluations=_MIN_EVALUATIONS, compare=True
        )
        trend = score_trend(facts, selection)
        executives = leaderboards.executive_changes(
            facts, selection, min_evaluations=_MIN_EVALUATIONS
        )
        due = alerts(situation.situation_of(facts.session, runtime, page_filters, figures))
        under_way = situation.waiting(facts.session, page_filters)
        threshold = pass_threshold(facts.session, page_filters.texts.get("scorecardId"))
    return render_template(
        "overview/show.html",
        page_filters=page_filters,
        summary=figures,
        figures=overview.figures(figures, page_filters.list_url),
        alerts=due,
        under_way=under_way,
        trend=score_chart(trend, page_filters),
        distribution=histogram(
            overview.score_classes(figures, page_filters.list_url), pass_threshold=threshold
        ),
        movers=overview.movers(executives, figures["score"]["stdev"]),
    )
