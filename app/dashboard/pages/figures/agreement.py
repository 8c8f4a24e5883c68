"""Agreement of the judge with people, and of people with each other."""

from flask import render_template

from app.analytics.agreement import report as agreement
from app.analytics.schemas.agreement import AgreementQuery
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.queries import filters_of_request
from app.dashboard.views.figures import agreement as agreement_views
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("agreement", __name__)

_SCHEMA = AgreementQuery()


@blp.get("/review/agreement")
@require_scope("evaluations:review")
def show() -> str:
    """Show the agreement of a period, criterion by criterion."""
    page_filters = filters_of_request(for_figures=True)
    selection = page_filters.selection(page_filters.load(_SCHEMA))
    with current_runtime().db.reading() as session:
        report = agreement.show(session, selection)
    return render_template(
        "reviews/agreement.html",
        page_filters=page_filters,
        report=report,
        rows=agreement_views.agreement_rows(report),
        score_sentence=agreement_views.score_sentence(report["score"]),
    )
