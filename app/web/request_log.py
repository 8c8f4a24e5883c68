"""Record of each request: its id `req_…`, its log entry and its counts for the metrics."""

import logging
import re
import time

from flask import Flask, Response, g, has_request_context, request

from app.core.ids import new_id
from app.core.metrics.catalogue import REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT
from app.core.metrics.counts import ProcessCounts

logger = logging.getLogger("app.access")
_INBOUND = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
# Callers may send any word as a method; each would become a time series.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def request_id() -> str:
    """Return the id of the current request; outside of one, a new id."""
    if not has_request_context():
        return new_id("req")
    current: str | None = g.get("request_id")
    if current is None:
        current = g.request_id = new_id("req")
    return current


def install(app: Flask, counts: ProcessCounts) -> None:
    """Add the id to every answer, log it at level DEBUG, and count it when metrics are on.

    Install it first, so that authentication counts as well.
    """

    @app.before_request
    def begin() -> None:
        g.arrived = time.perf_counter()
        if counts.enabled:
            counts.keep_writing()
            counts.change(REQUESTS_IN_FLIGHT, 1)

    @app.after_request
    def finish(response: Response) -> Response:
        response.headers.add("X-Request-Id", request_id())
        seconds = time.perf_counter() - g.arrived
        if logger.isEnabledFor(logging.DEBUG):
            _log(response, seconds)
        if counts.enabled:
            _count(counts, response, seconds)
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if counts.enabled and "arrived" in g:
            counts.change(REQUESTS_IN_FLIGHT, -1)


def _log(response: Response, seconds: float) -> None:
    """Log an answer without the query string; the id that the caller sent is only logged."""
    inbound = request.headers.get("X-Request-Id", "")
    logger.debug(
        "%s %s %s",
        request.method,
        request.path,
        response.status_code,
        extra={
            "request_id": request_id(),
            "inbound_id": inbound if _INBOUND.fullmatch(inbound) else None,
            "duration_ms": round(seconds * 1000, 1),
        },
    )


def _count(counts: ProcessCounts, response: Response, seconds: float) -> None:
    """Count an answer by route, status class and duration."""
    route = request.url_rule.rule if request.url_rule else "none"
    method = request.method if request.method in _METHODS else "other"
    counts.count(REQUESTS, method, route, f"{response.status_code // 100}xx")
    counts.observe(REQUEST_SECONDS, method, route, seconds=seconds)
