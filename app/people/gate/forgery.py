"""Protection of forms against forgery: the request's origin, and the session's token."""

import base64
import binascii
import hashlib
import hmac
import secrets
from urllib.parse import urlsplit

from flask import Request

from app.core.errors import AppError
from app.core.settings import Settings
from app.people.gate.cookie import own_scheme

TOKEN_FIELD, TOKEN_HEADER = "form_token", "X-CQE-Token"

_LABEL = b"cqe/form-token/v1"
_LENGTH = 32


class ForgedRequest(AppError):
    status, code = 403, "FORGED_REQUEST"
    message = "This form was not sent from this page: open the page again and repeat."


def check_origin(request: Request, settings: Settings) -> None:
    """Refuse a request that another site, another port or no page has sent.

    Raises:
        ForgedRequest: Sec-Fetch-Site or Origin name another origin, or Origin is missing.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        raise ForgedRequest()
    own = {f"{own_scheme(request, settings)}://{request.host}"}
    if settings.public_url:
        public = urlsplit(settings.public_url)
        own.add(f"{public.scheme}://{public.netloc}")
    if request.headers.get("Origin") not in own:
        raise ForgedRequest()


def check_token(request: Request, session_token: str) -> None:
    """Refuse a request without the form token of its session.

    Raises:
        ForgedRequest: it is missing, or of another session.
    """
    sent = request.headers.get(TOKEN_HEADER) or request.form.get(TOKEN_FIELD, "")
    try:
        masked = base64.urlsafe_b64decode(sent.encode())
    except (UnicodeEncodeError, binascii.Error):
        raise ForgedRequest() from None
    pad, hidden = masked[:_LENGTH], masked[_LENGTH:]
    if not hmac.compare_digest(_xor(hidden, pad), _token_of(session_token)):
        raise ForgedRequest()


def form_token(session_token: str) -> str:
    """Return the form token of a session, masked differently each time so that compression reveals nothing."""
    pad = secrets.token_bytes(_LENGTH)
    return base64.urlsafe_b64encode(pad + _xor(_token_of(session_token), pad)).decode()


def _token_of(session_token: str) -> bytes:
    return hmac.digest(session_token.encode(), _LABEL, hashlib.sha256)


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=False))
