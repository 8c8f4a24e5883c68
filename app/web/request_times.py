"""Counts of requests by route, status class and duration, when metrics are on."""

import time

from flask import Flask, Response, g, request

from app.core.metrics.request_counts import RequestCounts

# Callers may send any word as a method; each would become a time series.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def install(app: Flask, counts: RequestCounts) -> None:
    """Count every request; install it first, so that authentication counts as well."""

    @app.before_request
    def begin() -> None:
        g.arrived = time.perf_counter()
        counts.start_request()

    @app.after_request
    def count(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else "none"
        seconds = time.perf_counter() - g.arrived
        method = request.method if request.method in _METHODS else "other"
        counts.count_answer(method, route, response.status_code, seconds)
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if "arrived" in g:
            counts.finish_request()
