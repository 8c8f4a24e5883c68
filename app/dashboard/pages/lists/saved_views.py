"""Saved views of the list of evaluations: shown with their counts, saved and deleted."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from flask import redirect, request
from werkzeug.wrappers import Response

from app.core.errors import InvalidInput
from app.dashboard import forms, service
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.counts import LIST_PATH, LIST_SCHEMA, linked_count
from app.dashboard.notices import redirect_with
from app.dashboard.queries import filters_of
from app.dashboard.views.filters import url
from app.people.gate import current_person
from app.web.current import current_runtime
from app.web.principal import require_scope
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Text

blp = PageBlueprint("saved_views", __name__)


@dataclass(frozen=True, slots=True)
class ShownView:
    """A saved view with its address; only pinned ones are counted."""

    id: str
    name: str
    query: str
    url: str
    is_own: bool
    count: int | None


class SavedViewForm(CamelSchema):
    """The name of a view, and the query of the list that it saves."""

    name = Text(80, low=1, required=True)
    query = Text(4_000, load_default="")


def shown_views() -> list[ShownView]:
    """Return the views that the signed-in person sees above the list."""
    user_id = current_person().user_id
    with current_runtime().db.reading() as session:
        return [
            ShownView(
                id=view.id,
                name=view.name,
                query=view.query,
                url=url(LIST_PATH, dict(parse_qsl(view.query))),
                is_own=view.user_id == user_id,
                count=_count(session, view.query) if view.is_pinned else None,
            )
            for view in service.saved_views(session, user_id)
        ]


@blp.post(f"{LIST_PATH}/views")
@require_scope("evaluations:read")
def save() -> Response:
    """Save the filters of the list; a view of the same name is replaced."""
    form = forms.load(SavedViewForm(), request.form)
    query = dict(parse_qsl(form["query"]))
    filters_of(query).load(LIST_SCHEMA)
    with current_runtime().db.writing() as session:
        service.save_view(
            session,
            current_person().user_id,
            name=form["name"],
            query=form["query"],
            is_shared="isShared" in request.form,
            is_pinned="isPinned" in request.form,
        )
    return redirect(url(LIST_PATH, query), 303)


@blp.post(f"{LIST_PATH}/views/<id:view_id>/delete")
@require_scope("evaluations:read")
def delete(view_id: str) -> Response:
    """Delete one's own view."""
    with current_runtime().db.writing() as session:
        service.delete_view(session, current_person().user_id, view_id)
    return redirect_with("view-deleted", "evaluation_list.show")


def _count(session: Any, query: str) -> int | None:
    """Count the rows of a view; None where its filters are no longer valid."""
    try:
        return linked_count(session, filters_of(dict(parse_qsl(query))).moments()).count
    except InvalidInput:
        return None
