"""Refusals of the web server: answers to what never reaches the application, in the envelope of errors."""

from http import HTTPStatus

import orjson
from gunicorn.http import errors as gunicorn_errors  # type: ignore[import-untyped]

from app.core.errors import AppError, HeadTooLarge, MalformedRequest, UriTooLong

_OURS = (
    gunicorn_errors.ConfigurationProblem,
    gunicorn_errors.InvalidResponseHeader,
    gunicorn_errors.InvalidResponseHeaderName,
)


def error_of(failure: Exception) -> AppError:
    """Return the error for a request that gunicorn could not read, or could not have answered."""
    if isinstance(failure, gunicorn_errors.LimitRequestLine):
        return UriTooLong()
    if isinstance(failure, gunicorn_errors.LimitRequestHeaders):
        return HeadTooLarge()
    if isinstance(failure, gunicorn_errors.ParseException) and not isinstance(failure, _OURS):
        return MalformedRequest("This is not a well-formed HTTP request.")
    return AppError()


def answer_of(error: AppError, request_id: str) -> bytes:
    """Return a whole answer, after which the connection is closed."""
    body = {"error": {"code": error.code, "message": error.message, "requestId": request_id}}
    content = orjson.dumps(body)
    retry_after = f"Retry-After: {error.retry_after_s}\r\n" if error.retry_after_s else ""
    return (
        f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        f"{retry_after}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: {request_id}\r\n\r\n"
    ).encode() + content
