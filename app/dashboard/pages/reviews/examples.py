"""Examples that overrides gave to the judge: listed, and taken out of use."""

from flask import render_template, request
from werkzeug.wrappers import Response

from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited
from app.engagements.service import ENGAGEMENTS
from app.judge.acts.lessons import kind_named
from app.people.audit import Action
from app.reviews import examples
from app.reviews.schemas.reviews import ReviewExampleQuery
from app.web.current import current_runtime

blp = PageBlueprint(
    "review_examples", __name__, url_prefix="/review/examples", scope="evaluations:review"
)


@blp.get("")
def list_page() -> str:
    """List the examples, the newest first."""
    query = forms.load(ReviewExampleQuery(), {"page": request.args.get("page", "1")})
    with current_runtime().db.reading() as session:
        page = examples.list_page(session, query["page_request"])
        names = ENGAGEMENTS.names(session, {row["engagement_id"] for row in page.items})
    return render_template(
        "reviews/examples.html", page=page, names=names, label=lambda kind: kind_named(kind).label
    )


@blp.post("/<id:example_id>/revoke")
def revoke(example_id: str) -> Response:
    """Take an example out of use."""
    with audited(Action.EXAMPLE_REVOKED, example_id) as session:
        examples.revoke(session, example_id)
    return redirect_with("example-revoked", "review_examples.list_page")
