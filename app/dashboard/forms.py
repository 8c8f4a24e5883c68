"""Forms of pages: loaded by schemas of the API, and answered by a redirect with a notice."""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from flask import g, redirect, request, url_for
from marshmallow import Schema
from werkzeug.wrappers import Response

from app.core.errors import AppError, InvalidInput
from app.web.schemas.base import load_valid

View = TypeVar("View", bound=Callable[..., Any])

# The location of a form's fields in the details of an error.
LOCATION = "form"
_NOTICES = {
    "draft-discarded": "The draft was discarded.",
    "draft-reopened": "The draft was discarded or published meanwhile. What you typed is in this new draft.",
    "draft-saved": "The draft was saved.",
    "export-canceled": "The export was canceled; its file is deleted.",
    "export-requested": "The export was requested. Its file can be downloaded here once it is ready.",
    "example-revoked": "The example is revoked. New judgements no longer go by it.",
    "key-revoked": "The key is revoked. It stopped working at once.",
    "sent-again": "What was missed is being sent again.",
    "test-sent": "A test event is on its way: the list of deliveries shows the result.",
    "webhook-deleted": "The webhook was deleted.",
    "webhook-off": "The webhook is switched off. Events wait until it is on again.",
    "webhook-on": "The webhook is switched on again.",
    "revision-opened": "The conversation is judged again. The answers so far stay until that is done.",
    "answer-saved": "Your answer was saved.",
    "disputed": "Your dispute was sent. Its answer will be here, and under My results.",
    "coaching-saved": "The coaching session was saved.",
    "coaching-acknowledged": "You have acknowledged the coaching session.",
    "coaching-deleted": "The coaching session was deleted.",
    "goal-saved": "The goal was saved.",
    "goal-deleted": "The goal was deleted.",
    "campaigns-merged": "The campaigns are one now. What still comes in for the others is part of this one.",
    "campaign-changed": "The campaign is changed. New evaluations of its conversations use these scorecards.",
    "source-off": "The source is switched off.",
    "source-on": "The source is switched on. Its settings are saved.",
    "scorecard-published": "The version is published. New evaluations of what is chosen under Use are judged by it.",
    "scorecard-published-unused": "The scorecard is published. Nothing is judged by it yet: choose under Use what it is for.",
    "release-saved": "Agents see what this scorecard judges by this rule from now on, also of the past.",
    "scorecard-used": "The use of this scorecard is saved. It counts for new evaluations; earlier ones stay as they are.",
    "not-sent": "You had to sign in or give your password first: what you sent was not saved. Check the form and send it again.",
    "password-changed": "Your password was changed. Other sessions have ended.",
    "role-changed": "The role was changed. It applies from the next request on.",
    "review-saved": "Your review was saved.",
    "judged-again": "They are judged again. Each result shows when its judgement has ended.",
    "review-requested": "Reviews were requested. What is under review already stays as it is.",
    "saved": "What you entered was saved.",
    "agents-linked": "The accounts are linked. They see their conversations from now on.",
    "email-changed": "The e-mail address was saved.",
    "second-factor-removed": "The second factor was removed.",
    "session-ended": "The session was ended.",
    "signed-out-elsewhere": "Every session of this person was ended.",
    "signed-out": "You have signed out.",
    "user-disabled": "The account is disabled, and its sessions have ended.",
    "user-enabled": "The account is enabled again.",
    "tried-again": "It is tried again.",
    "view-deleted": "The view was deleted.",
    "view-saved": "The view was saved. It replaces your view of the same name, if you had one.",
}


def load(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Load the values of a form or a query; an empty field counts as not given.

    Raises:
        InvalidInput: its details name each field; `shown_again` shows them there.
    """
    known = {field.data_key or name for name, field in schema.load_fields.items()}
    document = {name: values[name] for name in known & set(values) if values[name] != ""}
    return load_valid(schema, document, location=LOCATION)


def given(*names: str) -> dict[str, str]:
    """Return those of these fields of the form that are not empty."""
    return {name: request.form[name] for name in names if request.form.get(name)}


def whole(name: str) -> int | str:
    """Return a field of the form as the number that it is, or as it was typed."""
    text = request.form.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def shown_again(
    page: Callable[..., str],
    others: Mapping[type[AppError], str] | None = None,
    *,
    inside: str = "",
) -> Callable[[View], View]:
    """Decorate a view that loads input: where this is invalid, answer with the page and its messages.

    Args:
        page: renders the page from the arguments of the view; templates find the message of each field in
            `errors`, and that of the whole in `refused`.
        others: more errors that the page shows, each with the field of its message; empty for none.
        inside: an object of the document whose members the form has as fields of its own.
    """
    fields = dict(others or {})
    refusals: tuple[type[AppError], ...] = (InvalidInput, *fields)

    def decorate(view: View) -> View:
        @wraps(view)
        def view_or_page(**arguments: Any) -> Any:
            try:
                return view(**arguments)
            except refusals as error:
                field = fields.get(type(error))
                messages = field_errors(error) if field is None else {field: error.message}
                g.refused, status = error.message, error.status
            messages.pop("", None)
            g.errors = {name.removeprefix(f"{inside}."): text for name, text in messages.items()}
            return page(**arguments), status

        return cast("View", view_or_page)

    return decorate


def field_errors(error: AppError) -> dict[str, str]:
    """Return the message of each field, to be shown beside it.

    A message about a member, such as `scopes[0]`, is also the message of its field.
    """
    messages = {detail["field"]: detail["message"] for detail in error.details}
    roots = {re.split(r"[.\[]", field, maxsplit=1)[0]: text for field, text in messages.items()}
    return {**roots, **messages}


def redirect_with(notice: str, endpoint: str, **values: Any) -> Response:
    """Redirect after a form to a page of the dashboard, which shows the notice.

    Raises:
        KeyError: there is no such notice.
    """
    return redirect_to(url_for(f"dashboard.{endpoint}", **values), notice)


def redirect_to(path: str, notice: str) -> Response:
    """Redirect after a form to a path of the dashboard, as `redirect_with` does to an endpoint."""
    _NOTICES[notice]
    return redirect(f"{path}{'&' if '?' in path else '?'}notice={notice}", 303)


def current_notice() -> str:
    """Return the sentence of the notice that the address names, or an empty text."""
    return _NOTICES.get(request.args.get("notice", ""), "")
