"""Queue of reviews: what waits for a person, and opening it."""

from contextlib import suppress
from urllib.parse import urlencode

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.core.errors import Conflict
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import LIST_PATH, linked_count
from app.dashboard.pages import places, queued
from app.dashboard.pages.audited import audited
from app.dashboard.queries import filters_of_request
from app.dashboard.views.filters import url
from app.dashboard.views.review_queue import TABS, tab_of
from app.evaluations.enums import ReviewAction
from app.people.audit import Action
from app.people.gate import current_person
from app.reviews import service as reviews
from app.reviews.schemas import ReviewCreate
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("review_queue", __name__)

PATH = "/review"
_SHOWN = 25


@blp.get(PATH)
@require_scope("evaluations:review")
def show() -> str:
    """Show a tab of the queue, and how many wait in each."""
    page_filters = filters_of_request()
    here = tab_of(page_filters.texts.get("tab", ""))
    with current_runtime().db.reading() as session:
        counts = {
            tab.key: linked_count(session, queued.query_of(tab, page_filters)).count for tab in TABS
        }
        queue = queued.read(session, here, page_filters)
    query = urlencode({**page_filters.texts, "tab": here.key})
    return render_template(
        "reviews/queue.html",
        page_filters=page_filters,
        tabs=[(tab, url(PATH, page_filters.texts, tab=tab.key), counts[tab.key]) for tab in TABS],
        here=here,
        query=query,
        rows=[(row, places.url_in_queue(row["id"], query)) for row in queue.rows[:_SHOWN]],
        list_url=url(LIST_PATH, queued.query_of(here, page_filters)),
    )


@blp.post(f"{PATH}/<id:evaluation_id>")
@require_scope("evaluations:review")
def open_review(evaluation_id: str) -> Response:
    """Set an evaluation in review and open it; a dispute is opened as it is."""
    add_review_step(evaluation_id, ReviewAction.START)
    return redirect(places.url_in_queue(evaluation_id, request.form.get("queue", "")), 303)


def add_review_step(evaluation_id: str, action: ReviewAction) -> None:
    """Request or start a review for the signed-in person, unless the review status forbids that."""
    person = current_person()
    review = ReviewCreate().load(
        {"action": action, "reviewer": person.display_name, "reviewerRef": person.user_id}
    )
    with suppress(Conflict), audited(Action.REVIEWED, evaluation_id) as session:
        reviews.add(session, evaluation_id, review, created_by=person.user_id)
