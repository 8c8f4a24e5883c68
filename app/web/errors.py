"""Error handlers: every failure is answered in the error envelope."""

import logging
from typing import Any

from flask import Flask, Response, jsonify, request
from marshmallow import fields
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm.exc import StaleDataError
from werkzeug.exceptions import HTTPException

from app.core import errors
from app.core.clock import utc_now
from app.core.secrets.encryption import UnknownMasterKey
from app.web.request_record import request_id
from app.web.schemas.base import CamelSchema

logger = logging.getLogger(__name__)

_UNIQUE_VIOLATION = "23505"
_BY_STATUS: dict[int, type[errors.AppError]] = {
    kind.status: kind
    for kind in (
        errors.MalformedRequest,
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.LengthRequired,
        errors.PreconditionFailed,
        errors.PayloadTooLarge,
        errors.UnsupportedMediaType,
        errors.InvalidInput,
    )
}


class DetailSchema(CamelSchema):
    location = fields.String()
    field = fields.String()
    code = fields.String()
    message = fields.String()
    server_time = fields.String()
    timestamp = fields.String()
    nonce = fields.String()
    method = fields.String()
    path = fields.String()
    body_sha256 = fields.String()


class ErrorBodySchema(CamelSchema):
    code = fields.String(required=True)
    message = fields.String(required=True)
    request_id = fields.String(required=True)
    retry_after = fields.Integer()
    details = fields.List(fields.Nested(DetailSchema))


class ErrorSchema(CamelSchema):
    error = fields.Nested(ErrorBodySchema, required=True)


def install(app: Flask) -> None:
    app.register_error_handler(errors.AppError, render)
    app.register_error_handler(UnknownMasterKey, _render_unknown_master_key)
    app.register_error_handler(HTTPException, _render_http)
    app.register_error_handler(Exception, _render_unexpected)


def render(error: errors.AppError) -> Response:
    body: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "requestId": request_id(),
    }
    if error.retry_after_s is not None:
        body["retryAfter"] = error.retry_after_s
    if error.details:
        body["details"] = error.details
    response = jsonify({"error": body})
    response.status_code = error.status
    response.headers.update(error.headers)
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "CQE1-HMAC-SHA256, Bearer"
        response.date = utc_now()
    return response


def _render_unknown_master_key(error: UnknownMasterKey) -> Response:
    message = f"Stored data cannot be decrypted: {error}."
    logger.error("%s %s: %s", request.method, request.path, message)
    return render(errors.ServiceUnavailable(message))


def _render_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return Response(status=404) if status == 308 else Response(status=status)
    kind = _BY_STATUS.get(status)
    if kind is None:
        kind = errors.MalformedRequest if status < 500 else errors.AppError
    answer = kind()
    allowed = getattr(error, "valid_methods", None)
    if status == 405 and allowed:
        answer.headers["Allow"] = ", ".join(sorted({*allowed, "OPTIONS"}))
    return render(answer)


def unexpected(error: Exception) -> errors.AppError:
    """Return the answer to an error that nothing handled, which is logged.

    The exception is what another request has just created or changed: that can happen on PostgreSQL
    between a check and a write.
    """
    if isinstance(error, StaleDataError) or _is_duplicate(error):
        logger.warning("%s %s: another request was quicker", request.method, request.path)
        return errors.Conflict(
            "Another request has changed this at the same moment: read it again, then repeat yours."
        )
    logger.error(
        "unexpected failure of %s %s",
        request.method,
        request.path,
        exc_info=error,
        extra={"request_id": request_id()},
    )
    return errors.AppError()


def _is_duplicate(error: Exception) -> bool:
    return (
        isinstance(error, IntegrityError)
        and getattr(error.orig, "sqlstate", None) == _UNIQUE_VIOLATION
    )


def _render_unexpected(error: Exception) -> Response:
    return render(unexpected(error))
