"""Audit trail: who did what, as a list with filters and as CSV."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask import Response, render_template, request

from app.analytics.exports.writers import defuse
from app.core.clock import iso_utc
from app.core.database.paging import PageRequest
from app.core.runtime import Runtime
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.navigation import request_texts
from app.dashboard.queries import filters_of
from app.dashboard.words import text_of
from app.people import audit, service
from app.people.audit import Action
from app.people.roles import READ_AUDIT
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.web.schemas.fields import Choice, Reference, Text
from app.web.schemas.query_fields import PeriodQuery

blp = PageBlueprint("audit", __name__)

_BATCH = 1000
# The pages of objects that are never deleted, by the prefix of their ids; a merged campaign has that
# of the one that it is part of.
_PAGES = {
    "camp": "/campaigns/",
    "eval": "/evaluations/",
    "aud": "/evaluations?days=all&sourceId=",
    "sc": "/scorecards/",
    "key": "/keys/",
    "user": "/people/",
}
_COLUMNS = ("at", "user", "action", "objectId", "address", "requestId")


class AuditQuery(PeriodQuery):
    user_id = Reference("user")
    action = Choice(list(Action))
    object_id = Text(64, low=1)


@blp.get("/audit")
@require_scope(READ_AUDIT)
@forms.shown_again(lambda: _page({"page_request": PageRequest()}))
def show() -> str:
    """Show the entries that match, the newest first."""
    return _page(_load_query())


def _page(filters: dict[str, Any]) -> str:
    newest_first = replace(filters.pop("page_request"), sort="-at")
    with current_runtime().db.reading() as session:
        entries = audit.list_page(session, newest_first, **filters)
        users = service.list_all(session)
        return render_template(
            "audit/show.html",
            entries=entries,
            users=users,
            names={user.id: user.display_name for user in users},
            actions=[(action, text_of("auditAction", action)) for action in Action],
            query=request.args,
            object_url=_object_url,
        )


@blp.get("/audit.csv")
@require_scope(READ_AUDIT, policy=EXPENSIVE)
def download() -> Response:
    """Answer with every entry that matches as CSV."""
    filters = _load_query()
    del filters["page_request"]
    response = Response(_lines(current_runtime(), filters), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="audit-trail.csv"'
    return response


def _load_query() -> dict[str, Any]:
    """Return the filters of this request; dates begin in the person's zone, as the times are shown."""
    texts = request_texts()
    if "from" in texts or "to" in texts:
        texts = filters_of(texts).moments()
    return forms.load(AuditQuery(), texts)


def _object_url(object_id: str) -> str:
    """Return the address of the page of an object; empty if it has none."""
    path = _PAGES.get(object_id.partition("_")[0], "")
    return path and path + object_id


def _lines(runtime: Runtime, filters: dict[str, Any]) -> Iterator[str]:
    """Yield the lines batch by batch, each read in a short transaction."""
    with runtime.db.reading() as session:
        names = {user.id: user.name for user in service.list_all(session)}
    yield _csv([_COLUMNS])
    last_id = None
    while True:
        with runtime.db.reading() as session:
            entries = audit.entries_before(session, last_id, limit=_BATCH, **filters)
        if not entries:
            return
        last_id = entries[-1].id
        yield _csv(
            [
                iso_utc(entry.at),
                names.get(entry.user_id or "", ""),
                entry.action,
                entry.object_id or "",
                entry.address,
                entry.request_id,
            ]
            for entry in entries
        )


def _csv(rows: Any) -> str:
    lines = io.StringIO()
    csv.writer(lines).writerows([defuse(cell) for cell in row] for row in rows)
    return lines.getvalue()
