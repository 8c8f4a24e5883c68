"""Responses of pages: security headers, compression and error pages."""

import gzip
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit

from flask import Response, g, make_response, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from app.core.errors import AppError, InsufficientScope, InvalidInput, MethodNotAllowed, NotFound
from app.dashboard.navigation import own_path
from app.dashboard.views.filters import label_of
from app.people.gate import (
    ConfirmationNeeded,
    PasswordChangeNeeded,
    SecondFactorNeeded,
    SignInNeeded,
    StaleForm,
)
from app.web import errors
from app.web.request_record import request_id, seconds_taken

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With `no-referrer` browsers would send forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_COMPRESSED_FROM_BYTES = 4096
# Endpoints that a person is led to before the page that was asked for.
_DETOURS: dict[type[AppError], str] = {
    SignInNeeded: "dashboard.sign_in.form",
    PasswordChangeNeeded: "dashboard.account.show",
    SecondFactorNeeded: "dashboard.second_factor.show",
    ConfirmationNeeded: "dashboard.sign_in.confirmation",
}
_SENTENCES: dict[type[AppError], str] = {
    InsufficientScope: "Your role may not do this. An admin can give you another role.",
    NotFound: "There is no such page, or what it showed was deleted.",
    MethodNotAllowed: "This page does not accept that request.",
}


def finish(response: Response) -> Response:
    """Add the headers that every page has, and compress large pages."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response = _compressed(response)
    response.headers["Server-Timing"] = f"page;dur={1000 * seconds_taken():.1f}"
    return response


def keep_uncompressed() -> None:
    """Send this page as it is, because it shows a secret."""
    g.shows_a_secret = True


def render_error(error: AppError) -> AnyResponse:
    """Answer a failure: a page for people, the error envelope for scripts."""
    if not _is_navigation():
        return errors.render(error)
    detour = _DETOURS.get(type(error))
    if detour is not None:
        return redirect(url_for(detour, next=_return_path()), 303)
    sentence = _SENTENCES.get(type(error), error.message)
    if error.message == InvalidInput.message:
        sentence = "Some of what was entered cannot be used."
    return _page(error.status, sentence, error)


def render_http_error(error: HTTPException) -> AnyResponse:
    """Answer a failure that Flask has found, such as a method that a page does not accept.

    An answer to a form has the address of the form: opening that leads to the page with the form.
    """
    if error.code == HTTPStatus.METHOD_NOT_ALLOWED and request.method == "GET":
        above = request.full_path.replace(request.path, request.path.rpartition("/")[0], 1)
        return redirect(own_path(above.rstrip("?")), 303)
    if error.code == HTTPStatus.METHOD_NOT_ALLOWED:
        return render_error(MethodNotAllowed())
    if error.code == HTTPStatus.NOT_FOUND:
        return render_error(NotFound())
    return _page(error.code or 500, error.description or "")


def render_unexpected(error: Exception) -> AnyResponse:
    """Answer a failure of ours: it is logged, and the page names the request."""
    return render_error(errors.unexpected(error))


def _page(status: int, sentence: str, error: AppError | None = None) -> Response:
    response = make_response(
        render_template(
            "error.html",
            title=HTTPStatus(status).phrase,
            sentence=sentence,
            details=error.details if error else (),
            label_of=label_of,
            form_url=_return_path() if isinstance(error, StaleForm) else "",
            request_id=request_id(),
        ),
        status,
    )
    if error is not None and error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def _is_navigation() -> bool:
    destination = request.headers.get("Sec-Fetch-Dest")
    if destination is not None:
        return destination == "document"
    return "application/json" not in request.headers.get("Accept", "")


def _return_path() -> str:
    """Return the page to come back to: this one, or the one with the form that was sent."""
    if request.method == "GET":
        return own_path(request.full_path.rstrip("?"))
    page = urlsplit(request.referrer or "")
    kept = [(name, text) for name, text in parse_qsl(page.query) if name != "notice"]
    return own_path(f"{page.path or '/'}?{urlencode([*kept, ('notice', 'not-sent')])}")


def _compressed(response: Response) -> Response:
    if (
        response.mimetype != "text/html"
        or response.is_streamed
        or not request.accept_encodings["gzip"]
        or g.get("shows_a_secret", False)
        or len(response.get_data()) < _COMPRESSED_FROM_BYTES
    ):
        return response
    response.set_data(gzip.compress(response.get_data(), compresslevel=3, mtime=0))
    response.content_encoding = "gzip"
    response.vary.add("Accept-Encoding")
    return response
