"""Queue of reviews: what waits for a person, and opening it."""

from contextlib import suppress
from datetime import datetime, time

from flask import redirect, render_template
from werkzeug.wrappers import Response

from app.core.clock import iso_utc
from app.core.errors import Conflict
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import linked_count, listed
from app.dashboard.queries import PageFilters, filters_of_request
from app.dashboard.views import review_queue
from app.dashboard.views.filters import url
from app.dashboard.views.review_queue import SAMPLE, TABS, QueueTab
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
# Rows among which the sample is dealt.
_SAMPLED_FROM = 100


@blp.get(PATH)
@require_scope("evaluations:review")
def show() -> str:
    """Show a tab of the queue, and how many wait in each."""
    chosen = filters_of_request()
    here = review_queue.tab_of(chosen.texts.get("tab", ""))
    query = _query_of(here, chosen)
    with current_runtime().db.reading() as session:
        counts = {tab.key: linked_count(session, _query_of(tab, chosen)).count for tab in TABS}
        size = _SAMPLED_FROM if here.key == SAMPLE else _SHOWN
        rows = listed(session, {**query, "pageSize": str(size)}).items
    return render_template(
        "reviews/queue.html",
        chosen=chosen,
        tabs=[(tab, url(PATH, chosen.texts, tab=tab.key), counts[tab.key]) for tab in TABS],
        here=here,
        rows=review_queue.dealt(rows, _SHOWN) if here.key == SAMPLE else rows,
        count=counts[here.key],
        list_url=url("/evaluations", query),
    )


@blp.post(f"{PATH}/<id:evaluation_id>")
@require_scope("evaluations:review")
def open_review(evaluation_id: str) -> Response:
    """Set an evaluation in review and open it; a dispute is opened as it is."""
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
    return redirect(f"/evaluations/{evaluation_id}", 303)


def _query_of(tab: QueueTab, chosen: PageFilters) -> dict[str, str]:
    if not tab.is_dated:
        return chosen.all_time_query(**tab.query)
    query = chosen.list_query(**tab.query)
    if tab.key == SAMPLE and "to" not in chosen.texts:
        # Only whole days, so that the sample is the same all day.
        today = chosen.now.astimezone(chosen.zone).date()
        query["to"] = iso_utc(datetime.combine(today, time(), chosen.zone))
    return query
