"""Expected errors: each carries its HTTP status, its code and a message for the caller."""

from collections.abc import Sequence
from typing import TypedDict


class Detail(TypedDict, total=False):
    """One problem with the input: its location and what is wrong."""

    location: str
    field: str
    code: str
    message: str
    # With TIMESTAMP_EXPIRED.
    serverTime: str
    # With INVALID_SIGNATURE: the lines to sign, as the service received them.
    timestamp: str
    nonce: str
    method: str
    path: str
    bodySha256: str


class AppError(Exception):
    """An error that the caller may see; `message` is a sentence for people."""

    status = 500
    code = "INTERNAL_ERROR"
    message = "An internal error occurred. Quote the requestId when you report it."

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Sequence[Detail] = (),
        retry_after_s: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.message = message or self.message
        self.details = list(details)
        self.retry_after_s = retry_after_s
        self.headers = headers or {}
        super().__init__(self.message)


class MalformedRequest(AppError):
    status, code = 400, "MALFORMED_REQUEST"
    message = "The body is not well-formed JSON."


class InvalidApiKey(AppError):
    status, code = 401, "INVALID_API_KEY"
    message = "The API key is missing, malformed, unknown, expired or revoked."


class InvalidSignature(AppError):
    status, code = 401, "INVALID_SIGNATURE"
    message = "The request signature does not match."


class TimestampExpired(AppError):
    status, code = 401, "TIMESTAMP_EXPIRED"
    message = "X-Timestamp is too far from the server's clock."


class InsufficientScope(AppError):
    status, code = 403, "INSUFFICIENT_SCOPE"
    message = "The API key lacks the scope that this endpoint needs."


class IpNotAllowed(AppError):
    status, code = 403, "IP_NOT_ALLOWED"
    message = "The API key may not be used from this address."


class TlsRequired(AppError):
    status, code = 403, "TLS_REQUIRED"
    message = "Use https: this service does not answer over plain HTTP."


class NotFound(AppError):
    status, code = 404, "RESOURCE_NOT_FOUND"
    message = "There is no such resource."


class MethodNotAllowed(AppError):
    status, code = 405, "METHOD_NOT_ALLOWED"
    message = "This resource does not accept that method; the Allow header lists those it accepts."


class RequestTimeout(AppError):
    status, code = 408, "REQUEST_TIMEOUT"
    message = "The request did not arrive in time."


class Conflict(AppError):
    status, code = 409, "CONFLICT"
    message = "The state of the resource does not allow this."


class LengthRequired(AppError):
    status, code = 411, "LENGTH_REQUIRED"
    message = "Send the body with a Content-Length; chunked bodies are not accepted."


class PreconditionFailed(AppError):
    status, code = 412, "PRECONDITION_FAILED"
    message = "The resource has changed: read it again and send its new ETag."


class PayloadTooLarge(AppError):
    status, code = 413, "PAYLOAD_TOO_LARGE"
    message = "The body is larger than this endpoint accepts."


class UriTooLong(AppError):
    status, code = 414, "URI_TOO_LONG"
    message = "The first line of the request, with path and query, is longer than 4,094 bytes."


class UnsupportedMediaType(AppError):
    status, code = 415, "UNSUPPORTED_MEDIA_TYPE"
    message = "Send the body as application/json, not compressed."


class InvalidInput(AppError):
    status, code = 422, "VALIDATION_ERROR"
    message = "Some fields are invalid; see details."

    @classmethod
    def field(
        cls, field: str, message: str, *, code: str = "FORMAT", location: str = "json"
    ) -> "InvalidInput":
        return cls(details=[Detail(location=location, field=field, code=code, message=message)])


class IdempotencyKeyReused(AppError):
    status, code = 422, "IDEMPOTENCY_KEY_REUSED"
    message = "This Idempotency-Key was used for another request."


class RateLimitExceeded(AppError):
    status, code = 429, "RATE_LIMIT_EXCEEDED"
    message = "Too many requests: wait for retryAfter seconds."


class HeadTooLarge(AppError):
    status, code = 431, "REQUEST_HEADERS_TOO_LARGE"
    message = "The headers of the request are too many or too long."


class ServiceUnavailable(AppError):
    status, code = 503, "SERVICE_UNAVAILABLE"
    message = "The service is temporarily unavailable; try again."


class DiskFull(ServiceUnavailable):
    """Too little disk space is free; jobs that need space are delayed, not failed."""

    message = "This service has too little disk space left to store this."

    def __init__(self) -> None:
        super().__init__(retry_after_s=60)
