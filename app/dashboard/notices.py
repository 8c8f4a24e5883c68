"""Notices: a sentence that the page after a redirect shows, named in its address."""

from typing import Any

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

_NOTICES = {
    "draft-discarded": "The draft was discarded.",
    "draft-saved": "The draft was saved.",
    "export-canceled": "The export was canceled; its file is deleted.",
    "export-requested": "The export was requested. Its file can be downloaded here once it is ready.",
    "key-revoked": "The key is revoked. It stopped working at once.",
    "sent-again": "What was missed is being sent again.",
    "test-sent": "A test event is on its way: the list of deliveries shows the result.",
    "webhook-deleted": "The webhook was deleted.",
    "webhook-off": "The webhook is switched off. Events wait until it is on again.",
    "webhook-on": "The webhook is switched on again.",
    "revision-opened": "The conversation is judged again. The answers so far stay until that is done.",
    "scorecard-published": "The scorecard is published: new evaluations use this version.",
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
    "tried-again": "It is tried again.",
    "view-deleted": "The view was deleted.",
}


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
