"""List of evaluations: filters, pages, saved views, and the way from one row to the next."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.core.database.paging import Page, PageRequest
from app.core.errors import InvalidInput, NotFound
from app.core.ids import is_id
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import LIST_PATH, LIST_SCHEMA
from app.dashboard.pages import places
from app.dashboard.pages.lists import saved_views
from app.dashboard.pickers import options_of
from app.dashboard.queries import PageFilters, filters_of_request
from app.dashboard.views import filters, list_filters
from app.dashboard.views.formatting import whole_number
from app.evaluations import listing
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = PageBlueprint("evaluation_list", __name__)

_LAST_PLACE = 99_999


@blp.get(LIST_PATH)
@require_scope("evaluations:read")
def show() -> Response | tuple[str, int]:
    """Show a page of the list; an id in place of words leads to its evaluation."""
    page_filters = filters_of_request()
    words = page_filters.texts.get("q", "").strip()
    if is_id(words, "eval"):
        return redirect(f"{LIST_PATH}/{words}", 303)
    try:
        query = page_filters.load(LIST_SCHEMA)
    except InvalidInput as error:
        return _page(page_filters, Page([], 1, 25, 0), errors=forms.field_errors(error)), 422
    with current_runtime().db.reading() as session:
        page = listing.list_page(session, query.pop("page_request"), **query)
    return _page(page_filters, page, errors={}), 200


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
    url = places.url_in_list(page.items[0]["id"], urlencode(query), place, page.total_count)
    return redirect(url, 303)


def _page(page_filters: PageFilters, page: Page[Any], *, errors: Mapping[str, str]) -> str:
    texts = page_filters.texts
    with current_runtime().db.reading() as session:
        options = options_of(session, texts)
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
            LIST_PATH, texts, list_filters.chip_texts(texts, names), hidden=list_filters.NO_CHIP
        ),
        errors=errors,
        fields=list_filters.FIELDS,
        sorts=list_filters.SORTS,
        options=options,
        views=saved_views.shown_views(),
        period_url=lambda days: filters.url(
            LIST_PATH, texts, days=days, **{"from": None, "to": None, "page": None}
        ),
        may=current_principal().scopes,
        view_query=urlencode(filters.without(texts, ("page",))),
    )
