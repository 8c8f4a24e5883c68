"""Queue of reviews: what waits for a person, and opening it."""

from contextlib import suppress
from urllib.parse import urlencode

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.core.errors import Conflict
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import LIST_PATH, linked_count
from app.dashboard.pages import places, queued
from app.dashboard.queries import filters_of_request
from app.dashboard.views.filters import url
from app.dashboard.views.review_queue import TABS, tab_of
from app.evaluations.enums import ReviewAction
from app.people import audit
from app.people.audit import Action
from app.people.gate.admission import current_actor, current_person
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
    chosen = filters_of_request()
    here = tab_of(chosen.texts.get("tab", ""))
    with current_runtime().db.reading() as session:
        counts = {
            tab.key: linked_count(session, queued.query_of(tab, chosen)).count for tab in TABS
        }
        queue = queued.read(session, here, chosen)
    query = urlencode({**chosen.texts, "tab": here.key})
    return render_template(
        "reviews/queue.html",
        chosen=chosen,
        tabs=[(tab, url(PATH, chosen.texts, tab=tab.key), counts[tab.key]) for tab in TABS],
        here=here,
        query=query,
        rows=[(row, places.url_in_queue(row["id"], query)) for row in queue.rows[:_SHOWN]],
        list_url=url(LIST_PATH, queued.query_of(here, chosen)),
    )


@blp.post(f"{PATH}/<id:evaluation_id>")
@require_scope("evaluations:review")
def open_review(evaluation_id: str) -> Response:
    """Set an evaluation in review and open it; a dispute is opened as it is."""
    claim(evaluation_id)
    return redirect(places.url_in_queue(evaluation_id, request.form.get("queue", "")), 303)


def claim(evaluation_id: str) -> None:
    """Set an evaluation in review for the signed-in person, unless its review status forbids that."""
    person = current_person()
    given = ReviewCreate().load(
        {
            "action": ReviewAction.START,
            "reviewer": person.display_name,
            "reviewerRef": person.user_id,
        }
    )
    with suppress(Conflict), current_runtime().db.writing() as session:
        reviews.add(session, evaluation_id, given, created_by=person.user_id)
        audit.record(session, current_actor(), Action.REVIEWED, evaluation_id)
