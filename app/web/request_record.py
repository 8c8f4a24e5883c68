"""Id `req_…` of each request, and its counts for the metrics."""

import time

from flask import Flask, Response, g, has_request_context, request

from app.core.ids import new_id
from app.core.metrics import REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT, ProcessCounts

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


def seconds_taken() -> float:
    """Return how long the current request has taken so far."""
    return time.perf_counter() - float(g.arrived)


def install(app: Flask, counts: ProcessCounts) -> None:
    """Add the id to every answer, and count requests when metrics are on.

    Install it first, so that authentication counts as well.
    """

    @app.before_request
    def arrive() -> None:
        g.arrived = time.perf_counter()

    @app.after_request
    def add_id(response: Response) -> Response:
        response.headers.add("X-Request-Id", request_id())
        return response

    if not counts.enabled:
        return

    @app.before_request
    def begin() -> None:
        counts.keep_writing()
        counts.change(REQUESTS_IN_FLIGHT, 1)
        g.is_in_flight = True

    @app.after_request
    def count(response: Response) -> Response:
        _count(counts, response, seconds_taken())
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if "is_in_flight" in g:
            counts.change(REQUESTS_IN_FLIGHT, -1)


def _count(counts: ProcessCounts, response: Response, seconds: float) -> None:
    """Count an answer by route, status class and duration."""
    route = request.url_rule.rule if request.url_rule else "none"
    method = request.method if request.method in _METHODS else "other"
    counts.count(REQUESTS, method, route, f"{response.status_code // 100}xx")
    counts.observe(REQUEST_SECONDS, method, route, seconds=seconds)
