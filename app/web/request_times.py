"""Counts of requests by route, status class and duration, when metrics are on."""

import time

from flask import Flask, Response, g, request

from app.core.metrics.catalogue import REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT
from app.core.metrics.counts import ProcessCounts

# Callers may send any word as a method; each would become a time series.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def install(app: Flask, counts: ProcessCounts) -> None:
    """Count every request; install it first, so that authentication counts as well."""

    @app.before_request
    def begin() -> None:
        counts.keep_writing()
        g.arrived = time.perf_counter()
        counts.change(REQUESTS_IN_FLIGHT, 1)

    @app.after_request
    def count(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else "none"
        method = request.method if request.method in _METHODS else "other"
        seconds = time.perf_counter() - g.arrived
        counts.count(REQUESTS, method, route, f"{response.status_code // 100}xx")
        counts.observe(REQUEST_SECONDS, method, route, seconds=seconds)
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if "arrived" in g:
            counts.change(REQUESTS_IN_FLIGHT, -1)
