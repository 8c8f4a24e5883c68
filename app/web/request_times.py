"""Counts every request by its route, its class of status and its time, where metrics are on."""

import time

from flask import Flask, Response, g, request

from app.core.request_figures import RequestFigures

# Callers may send any word as a method: each would be a series of its own.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


def install(app: Flask, figures: RequestFigures) -> None:
    """Count from before authentication to after everything else; install it first."""

    @app.before_request
    def begin() -> None:
        g.arrived = time.perf_counter()
        figures.began()

    @app.after_request
    def count(response: Response) -> Response:
        route = request.url_rule.rule if request.url_rule else "none"
        seconds = time.perf_counter() - g.arrived
        method = request.method if request.method in _METHODS else "other"
        figures.answered(method, route, response.status_code, seconds)
        return response

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if "arrived" in g:
            figures.ended()
