"""Notices: a sentence that the page after a redirect shows, named in its address."""

from typing import Any

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

_NOTICES = {
    "revision-opened": "The conversation is judged again. The answers so far stay until that is done.",
    "password-changed": "Your password was changed. Other sessions have ended.",
    "role-changed": "The role was changed. It applies from the next request on.",
    "review-saved": "Your review was saved.",
    "judged-again": "They are judged again. Each result shows when its judgement has ended.",
    "review-requested": "Reviews were requested. What is under review already stays as it is.",
    "saved": "Your settings were saved.",
    "session-ended": "The session was ended.",
    "signed-out-elsewhere": "Every session of this person was ended.",
    "signed-out": "You have signed out.",
    "user-disabled": "The account is disabled, and its sessions have ended.",
    "user-enabled": "The account is enabled again.",
    "view-deleted": "The view was deleted.",
}


def redirect_with(notice: str, endpoint: str, **values: Any) -> Response:
    """Redirect after a form to a page of the dashboard, which shows the notice.

    Raises:
        KeyError: there is no such notice.
    """
    _NOTICES[notice]
    return redirect(url_for(f"dashboard.{endpoint}", notice=notice, **values), 303)


def current_notice() -> str:
    """Return the sentence of the notice that the address names, or an empty text."""
    return _NOTICES.get(request.args.get("notice", ""), "")
