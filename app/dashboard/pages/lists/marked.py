"""Actions on rows of the list of evaluations: request reviews, judge again after a count, export."""

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.analytics.enums import Dataset
from app.core.errors import Conflict, InvalidInput
from app.core.ids import is_id
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import LIST_SCHEMA
from app.dashboard.notices import redirect_with
from app.dashboard.pages.audited import audited
from app.dashboard.pages.lists.review_queue import add_review_step
from app.dashboard.queries import filters_of
from app.dashboard.views.filters import url
from app.evaluations.enums import ReviewAction
from app.evaluations.judging import bulk, judgements
from app.evaluations.schemas.evaluations import MOST_IDS
from app.people import audit
from app.people.audit import Action
from app.people.gate import current_actor
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope

blp = PageBlueprint("marked", __name__)


@blp.post("/evaluations/marked/request-review")
@require_scope("evaluations:review")
def request_review() -> Response:
    """Request a review of each marked evaluation; those in review already stay as they are."""
    for evaluation_id in _marked():
        add_review_step(evaluation_id, ReviewAction.REQUEST)
    return redirect_with("review-requested", "evaluation_list.show")


@blp.post("/evaluations/marked/judge-again")
@require_scope("evaluations:review")
def count() -> str:
    """Tell how many evaluations would be judged again: of the marked ones, or else of the list."""
    marked = request.form.getlist("ids")
    query = request.form.get("query", "")
    filters = {"ids": _marked()} if marked else _list_filters(query)
    with current_runtime().db.reading() as session:
        selected = bulk.count(session, filters=filters)
    return render_template(
        "evaluations/judge_again.html", marked=marked, query=query, count=selected
    )


@blp.post("/evaluations/marked/calibration")
@require_scope("evaluations:review")
def calibrate() -> Response:
    """Open the form of a calibration round with the marked evaluations."""
    return redirect(url("/review/calibration/new", {"ids": ",".join(_marked())}), 303)


@blp.post("/evaluations/marked/export")
@require_scope("analytics:export")
def export() -> Response:
    """Open the form of a new export with the marked evaluations, or else with all of the list."""
    if request.form.getlist("ids"):
        filters = {"ids": ",".join(_marked())}
    else:
        filters = filters_of(dict(parse_qsl(request.form.get("query", "")))).moments()
    return redirect(url("/exports", {"dataset": Dataset.EVALUATIONS, **filters}) + "#new", 303)


@blp.post("/evaluations/judge-again")
@require_scope("evaluations:review", policy=EXPENSIVE)
def judge_again() -> Response:
    """Judge the marked evaluations again, or all of a list."""
    if not request.form.getlist("ids"):
        filters = _list_filters(request.form.get("query", ""))
        with current_runtime().db.reading() as session:
            selected = bulk.count(session, filters=filters)
        with current_runtime().db.writing() as session:
            started = bulk.start(session, selected=selected, filters=filters)
            audit.record(session, current_actor(), Action.RE_EVALUATED, started["id"])
        return redirect_with("judged-again", "evaluation_list.show")
    for evaluation_id in _marked():
        with suppress(Conflict), audited(Action.RE_EVALUATED, evaluation_id) as session:
            judgements.request_again(session, evaluation_id)
    return redirect_with("judged-again", "evaluation_list.show")


def _marked() -> list[str]:
    """Return the ids that are marked.

    Raises:
        InvalidInput: there are none or too many, or one is no id.
    """
    ids = request.form.getlist("ids")
    if not 1 <= len(ids) <= MOST_IDS or not all(is_id(marked, "eval") for marked in ids):
        raise InvalidInput.field("ids", f"Mark 1 to {MOST_IDS} evaluations.", location="form")
    return ids


def _list_filters(query: str) -> dict[str, Any]:
    loaded = filters_of(dict(parse_qsl(query))).load(LIST_SCHEMA)
    del loaded["page_request"]
    loaded.pop("current", None)
    return loaded
