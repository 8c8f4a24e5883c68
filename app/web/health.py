"""Health endpoints, without details that would help an attacker."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Set
from typing import Any

from flask import Flask, Response, jsonify

from app.core.clock import iso_utc, utc_now
from app.core.errors import ServiceUnavailable
from app.web.api import BASES

logger = logging.getLogger(__name__)

_FRESH_S = 1.0
_WAITS_S, _READY_WITHIN_S = 5.0, 1.0

Check = Callable[[], bool]


class Health:
    """Answers from checks that a thread runs at most once a second, so that no answer hangs."""

    def __init__(self, checks: Mapping[str, Check], *, vital: Set[str], of_host: Set[str]) -> None:
        """Name the checks.

        Args:
            vital: those without which the service answers no request.
            of_host: those without which this host should get no requests.
        """
        self._vital = vital
        self._of_host = of_host
        self._checks = _CheckRunner(checks)
        self._host_checks = _CheckRunner({name: checks[name] for name in of_host})

    def install(self, app: Flask) -> None:
        """Register /health at the root and under both base paths, with /live and /ready."""
        for base in ("", *BASES):
            app.add_url_rule(f"{base}/health", "health", self.show, methods=["GET"])
            app.add_url_rule(f"{base}/health/live", "health.live", self.live, methods=["GET"])
            app.add_url_rule(f"{base}/health/ready", "health.ready", self.ready, methods=["GET"])

    def show(self) -> Response:
        """Answer ok or degraded, or 503 when a vital check fails."""
        results = _passing(self._checks.latest(within_s=_WAITS_S), self._vital)
        return _answer("ok" if all(results.values()) else "degraded", checks=_statuses(results))

    def ready(self) -> Response:
        """Answer ok, or 503 when this host should get no requests."""
        _passing(self._host_checks.latest(within_s=_READY_WITHIN_S), self._of_host)
        return _answer("ok")

    def live(self) -> Response:
        """Answer ok without looking at anything."""
        return _answer("ok")


class _CheckRunner:
    """Runs all checks in a thread when somebody asks and the last results are over a second old."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._changed = threading.Condition()
        self._results: Mapping[str, bool] = {}
        self._checked_at = -_FRESH_S
        self._began_at: float | None = None

    def latest(self, *, within_s: float) -> Mapping[str, bool] | None:
        """Return the results; None when the checks take longer."""
        with self._changed:
            now = time.monotonic()
            if now - self._checked_at < _FRESH_S:
                return self._results
            if self._began_at is None:
                self._began_at = now
                threading.Thread(target=self._run, name="health", daemon=True).start()
            waits_s = self._began_at + within_s - now
            done = self._changed.wait_for(lambda: self._checked_at >= now, timeout=waits_s)
            return self._results if done else None

    def _run(self) -> None:
        results = {name: self._passes(name) for name in self._checks}
        with self._changed:
            self._results, self._checked_at = results, time.monotonic()
            self._began_at = None
            self._changed.notify_all()

    def _passes(self, name: str) -> bool:
        try:
            return self._checks[name]()
        except Exception:
            # A run that does not end would leave every later one without an answer.
            logger.exception("the check of %s failed", name)
            return False


def _passing(results: Mapping[str, bool] | None, needed: Set[str]) -> Mapping[str, bool]:
    if results is None or not all(results[name] for name in needed):
        raise ServiceUnavailable("The service is not ready.", retry_after_s=1)
    return results


def _answer(status: str, **more: Any) -> Response:
    return jsonify({"status": status, "time": iso_utc(utc_now()), **more})


def _statuses(results: Mapping[str, bool]) -> dict[str, str]:
    return {name: "ok" if good else "failing" for name, good in results.items()}
