"""Reviewers: number and pace of reviews, and who is strict or lenient."""

from flask import render_template

from app.dashboard.blueprint import PageBlueprint
from app.dashboard.queries import filters_of_request
from app.people import service as people
from app.reviews import reviewers
from app.reviews.schemas.agreement import AgreementQuery
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("reviewers", __name__)


@blp.get("/review/reviewers")
@require_scope("reviews:plan")
def show() -> str:
    """Show the figures of everybody who has reviewed in the period."""
    page_filters = filters_of_request(for_figures=True)
    selection = page_filters.selection(page_filters.load(AgreementQuery()))
    with current_runtime().db.reading() as session:
        rows = reviewers.figures(session, selection)
        names = people.display_names(session, [row["reviewer"] for row in rows])
    return render_template(
        "planning/reviewers.html", page_filters=page_filters, rows=rows, names=names
    )
