"""Cross-origin requests: pages of the allowed origins may call the API from a browser."""

from collections.abc import Sequence

from flask import Flask, Response, request

from app.web.api import BASES

# Links to uploads and downloads lie below it.
_PATHS = (*(f"{base}/" for base in BASES), "/storage/")
_METHODS = "GET, POST, PUT, PATCH, DELETE"
_REQUEST_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Api-Key, X-Nonce, "
    "X-Signature, X-Timestamp"
)
_RESPONSE_HEADERS = (
    "ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
)


def install(app: Flask, origins: Sequence[str]) -> None:
    """Answer preflights of these origins, and let their pages read answers; cookies are never sent."""

    @app.after_request
    def allow(response: Response) -> Response:
        if request.path.startswith(_PATHS):
            response.vary.add("Origin")
            if request.headers.get("Origin") in origins:
                _add_headers(response)
        return response


def _add_headers(response: Response) -> None:
    response.headers["Access-Control-Allow-Origin"] = request.headers["Origin"]
    response.headers["Access-Control-Expose-Headers"] = _RESPONSE_HEADERS
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = _METHODS
        response.headers["Access-Control-Allow-Headers"] = _REQUEST_HEADERS
        response.headers["Access-Control-Max-Age"] = "600"
