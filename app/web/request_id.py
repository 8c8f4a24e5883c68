"""Request id: `req_…` in a header and in every envelope; an inbound id is only logged."""

import logging
import re
import time

from flask import Flask, Response, g, has_request_context, request

from app.core.ids import new_id

logger = logging.getLogger("app.access")
_INBOUND = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def request_id() -> str:
    """Return the id of the current request; outside of one, a new id."""
    if not has_request_context():
        return new_id("req")
    current: str | None = g.get("request_id")
    if current is None:
        current = g.request_id = new_id("req")
    return current


def install(app: Flask) -> None:
    """Add the id to every answer, and log each answer without its query string."""

    @app.before_request
    def begin() -> None:
        g.started = time.perf_counter()

    @app.after_request
    def finish(response: Response) -> Response:
        response.headers.add("X-Request-Id", request_id())
        if not logger.isEnabledFor(logging.DEBUG):
            return response
        inbound = request.headers.get("X-Request-Id", "")
        logger.debug(
            "%s %s %s",
            request.method,
            request.path,
            response.status_code,
            extra={
                "request_id": request_id(),
                "inbound_id": inbound if _INBOUND.fullmatch(inbound) else None,
                "duration_ms": round((time.perf_counter() - g.started) * 1000, 1),
            },
        )
        return response
