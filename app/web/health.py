"""Health endpoint, without details that would help an attacker."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from flask import Flask, Response, jsonify

from app.core.clock import iso_utc, utc_now
from app.core.errors import ServiceUnavailable
from app.web.api import BASES

_KEPT_S = 1.0

Check = Callable[[], bool]


class Health:
    """Runs the checks at most once a second."""

    def __init__(self, checks: dict[str, Check], *, vital: Sequence[str]) -> None:
        self._checks = checks
        self._vital = vital
        self._lock = threading.Lock()
        self._checked_at = 0.0
        self._results: dict[str, bool] = {}

    def install(self, app: Flask) -> None:
        """Register /health at the root and under both base paths."""
        for base in ("", *BASES):
            app.add_url_rule(f"{base}/health", "health", self.show, methods=["GET"])

    def show(self) -> Response:
        """Answer ok or degraded, or 503 when a vital check fails."""
        results = self._run()
        if not all(results[name] for name in self._vital):
            raise ServiceUnavailable("The service is not ready.", retry_after_s=1)
        answer: dict[str, Any] = {
            "status": "ok" if all(results.values()) else "degraded",
            "time": iso_utc(utc_now()),
            "checks": {name: "ok" if good else "failing" for name, good in results.items()},
        }
        return jsonify(answer)

    def _run(self) -> dict[str, bool]:
        with self._lock:
            if time.monotonic() - self._checked_at > _KEPT_S:
                self._results = {name: check() for name, check in self._checks.items()}
                self._checked_at = time.monotonic()
            return self._results
