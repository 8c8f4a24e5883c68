"""List of evaluations: its filters and pages, saved views, and actions on marked rows."""

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import redirect, render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.analytics.enums import Dataset
from app.core.database.paging import Page, PageRequest
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import is_id
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_to
from app.dashboard.pages import places
from app.dashboard.pages.audited import audited, record
from app.dashboard.pages.reviews.queue import add_review_step
from app.dashboard.pickers import options_of
from app.dashboard.queries import (
    LIST_PATH,
    LIST_SCHEMA,
    PageFilters,
    count_of,
    filters_of,
    filters_of_request,
)
from app.dashboard.views import filters
from app.dashboard.views.conversation import snippet_parts
from app.dashboard.views.formatting import whole_number
from app.evaluations import listing
from app.evaluations.enums import ReviewAction
from app.evaluations.judging import bulk, judgements
from app.evaluations.schemas.evaluations import MOST_IDS
from app.people import saved_views
from app.people.audit import Action
from app.people.gate import current_person
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, current_principal, require_scope
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Text

blp = PageBlueprint("evaluation_list", __name__)
_LAST_PLACE = 99_999


class SavedViewForm(CamelSchema):
    """The name of a view, and the query of the list that it saves."""

    name = Text(80, low=1, required=True)
    query = Text(4_000, load_default="")


@blp.get(LIST_PATH)
@require_scope("evaluations:read")
@forms.shown_again(lambda: _page(filters_of_request(), Page([], 1, 25, 0)))
def show() -> Response | str:
    """Show a page of the list; an id in place of words leads to its evaluation."""
    page_filters = filters_of_request()
    words = page_filters.texts.get("q", "").strip()
    if is_id(words, "eval"):
        return redirect(f"{LIST_PATH}/{words}", 303)
    query = page_filters.load(LIST_SCHEMA)
    with current_runtime().db.reading() as session:
        page = listing.list_page(session, query.pop("page_request"), **query)
    return _page(page_filters, page)


@blp.get(f"{LIST_PATH}/at")
@require_scope("evaluations:read")
def open_place() -> Response:
    """Lead to the evaluation at a place of a list: `in` is the list's query, `at` counts from 0.

    A place behind the end leads back to the list.
    """
    query = dict(parse_qsl(request.args.get("in", "")))
    place = whole_number(request.args.get("at", ""))
    if place is None or place > _LAST_PLACE:
        raise NotFound()
    loaded = forms.load(LIST_SCHEMA, query)
    only = PageRequest(place + 1, 1, loaded.pop("page_request").sort)
    with current_runtime().db.reading() as session:
        page = listing.list_page(session, only, **loaded)
    if not page.items:
        return redirect(filters.url(LIST_PATH, query), 303)
    return redirect(
        places.url_in_list(page.items[0]["id"], urlencode(query), place, page.total_count), 303
    )


@blp.post(f"{LIST_PATH}/views")
@require_scope("evaluations:read")
def save_view() -> Response:
    """Save the filters of the list; a view of the same name is replaced."""
    form = forms.load(SavedViewForm(), request.form)
    query = dict(parse_qsl(form["query"]))
    filters_of(query).load(LIST_SCHEMA)
    with current_runtime().db.writing() as session:
        saved_views.save(
            session,
            current_person().user_id,
            name=form["name"],
            query=form["query"],
            is_shared="isShared" in request.form and _may_share(),
            is_pinned="isPinned" in request.form,
        )
    return _back_to_list("view-saved")


@blp.post(f"{LIST_PATH}/views/<id:view_id>/delete")
@require_scope("evaluations:read")
def delete_view(view_id: str) -> Response:
    """Delete one's own view."""
    with current_runtime().db.writing() as session:
        saved_views.delete(session, current_person().user_id, view_id)
    return _back_to_list("view-deleted")


@blp.post(f"{LIST_PATH}/marked/request-review")
@require_scope("evaluations:review")
def request_reviews() -> Response:
    """Request a review of each marked evaluation; those in review already stay as they are."""
    for evaluation_id in _marked():
        add_review_step(evaluation_id, ReviewAction.REQUEST)
    return _back_to_list("review-requested")


def _page(page_filters: PageFilters, page: Page[Any]) -> str:
    texts = page_filters.texts
    with current_runtime().db.reading() as session:
        options = options_of(session, texts)
        subjects = listing.subjects(session, [row["id"] for row in page.items])
    names = {key: name for several in options.values() for key, name in several.items()}
    query = urlencode(filters.without(page_filters.moments(), ("page",)))
    first = (page.page - 1) * page.page_size
    return render_template(
        "evaluations/list.html",
        page=page,
        rows=[
            (row, places.url_in_list(row["id"], query, place, page.total_count))
            for place, row in enumerate(page.items, start=first)
        ],
        page_filters=page_filters,
        chips=filters.chips(
            LIST_PATH, texts, filters.chip_texts(texts, names), hidden=filters.NO_CHIP
        ),
        subjects=subjects,
        heads=filters.sort_heads(
            LIST_PATH,
            texts,
            *("score", "-conversationAt", "-durationSeconds"),
            usual="-conversationAt",
        ),
        fields=filters.FIELDS,
        sorts=filters.SORTS,
        options=options,
        views=_views(),
        period_url=lambda days: filters.url(
            LIST_PATH, texts, days=days, **{"from": None, "to": None, "page": None}
        ),
        snippet_parts=snippet_parts,
        may=current_principal().scopes,
        can_share=_may_share(),
        label_of=filters.label_of,
        view_query=urlencode(filters.without(texts, ("page",))),
    )


def _may_share() -> bool:
    """Return whether this person may show others a view: a viewer may not."""
    return "evaluations:review" in current_principal().scopes


def _views() -> list[tuple[Any, str, int | None]]:
    """Return the views above the list, each with its address; only pinned ones are counted."""
    with current_runtime().db.reading() as session:
        return [
            (
                view,
                filters.url(LIST_PATH, dict(parse_qsl(view.query))),
                _count(session, view.query) if view.is_pinned else None,
            )
            for view in saved_views.list_visible(session, current_person().user_id)
        ]


def _count(session: Session, query: str) -> int | None:
    """Count the rows of a view; None where its filters are no longer valid."""
    try:
        return count_of(session, filters_of(dict(parse_qsl(query))).moments())
    except InvalidInput:
        return None


@blp.post(f"{LIST_PATH}/marked/judge-again")
@require_scope("evaluations:review")
def count_marked() -> str:
    """Tell how many evaluations would be judged again: of the marked ones, or else of the list."""
    marked = request.form.getlist("ids")
    query = request.form.get("query", "")
    selection = {"ids": _marked()} if marked else _list_filters()
    with current_runtime().db.reading() as session:
        selected = bulk.count(session, filters=selection)
    return render_template(
        "evaluations/judge_again.html", marked=marked, query=query, count=selected
    )


@blp.post(f"{LIST_PATH}/marked/calibration")
@require_scope("evaluations:review")
def calibrate_marked() -> Response:
    """Open the form of a calibration round with the marked evaluations."""
    return redirect(filters.url("/review/calibration/new", {"ids": ",".join(_marked())}), 303)


@blp.post(f"{LIST_PATH}/marked/export")
@require_scope("analytics:export")
def export_marked() -> Response:
    """Open the form of a new export with the marked evaluations, or else with all of the list."""
    if request.form.getlist("ids"):
        selection = {"ids": ",".join(_marked())}
    else:
        selection = filters_of(_list_query()).moments()
    return redirect(
        filters.url("/exports", {"dataset": Dataset.EVALUATIONS, **selection}) + "#new", 303
    )


@blp.post(f"{LIST_PATH}/judge-again")
@require_scope("evaluations:review", policy=EXPENSIVE)
def judge_again() -> Response:
    """Judge the marked evaluations again, or all of a list."""
    if not request.form.getlist("ids"):
        selection = _list_filters()
        with current_runtime().db.reading() as session:
            selected = bulk.count(session, filters=selection)
        with current_runtime().db.writing() as session:
            started = bulk.start(session, selected=selected, filters=selection)
            record(session, Action.RE_EVALUATED, started["id"])
        return _back_to_list("judged-again")
    for evaluation_id in _marked():
        with suppress(Conflict), audited(Action.RE_EVALUATED, evaluation_id) as session:
            judgements.request_again(session, evaluation_id)
    return _back_to_list("judged-again")


def _back_to_list(notice: str) -> Response:
    return redirect_to(filters.url(LIST_PATH, _list_query()), notice)


def _list_query() -> dict[str, str]:
    return dict(parse_qsl(request.form.get("query", "")))


def _marked() -> list[str]:
    """Return the ids that are marked.

    Raises:
        InvalidInput: none are given, too many are given, or one is not an id.
    """
    ids = request.form.getlist("ids")
    if not 1 <= len(ids) <= MOST_IDS or not all(is_id(marked, "eval") for marked in ids):
        raise InvalidInput.field("ids", f"Mark 1 to {MOST_IDS} evaluations.", location="form")
    return ids


def _list_filters() -> dict[str, Any]:
    loaded = filters_of(_list_query()).load(LIST_SCHEMA)
    del loaded["page_request"]
    loaded.pop("current", None)
    return loaded
