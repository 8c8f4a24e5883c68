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

# A result is used without a new check, and while a new check takes long.
_FRESH_S, _USABLE_S = 1.0, 5.0
_WAITS_S, _READY_WITHIN_S, _BRIEFLY_S = 1.5, 1.0, 0.1
# What starts after the web server has answered by then.
_STARTED_WITHIN_S = 20.0

Check = Callable[[], bool]


class Health:
    """Answers from checks that a thread runs at most once a second, so that no answer hangs.

    A check without a result of the last seconds fails.
    """

    def __init__(
        self,
        checks: Mapping[str, Check],
        *,
        vital: Set[str],
        of_host: Set[str],
        late: Set[str] = frozenset(),
    ) -> None:
        """Name the checks.

        Args:
            vital: those without which the service answers no request.
            of_host: those without which this host should get no requests.
            late: those of what starts after the web server.
        """
        self._late = late
        self._began_at = time.monotonic()
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
        """Answer ok, starting or degraded, or 503 when a vital check fails."""
        results = self._checks.latest(within_s=_WAITS_S)
        _require(results, self._vital)
        failing = {name for name, passed in results.items() if not passed}
        return _answer(
            self._status(failing),
            checks={name: "ok" if passed else "failing" for name, passed in results.items()},
        )

    def _status(self, failing: Set[str]) -> str:
        if not failing:
            return "ok"
        is_new = time.monotonic() - self._began_at < _STARTED_WITHIN_S
        return "starting" if is_new and failing <= self._late else "degraded"

    def ready(self) -> Response:
        """Answer ok, or 503 when this host should get no requests."""
        _require(self._host_checks.latest(within_s=_READY_WITHIN_S), self._of_host)
        return _answer("ok")

    def live(self) -> Response:
        """Answer ok without looking at anything."""
        return _answer("ok")


class _CheckRunner:
    """Runs all checks in a thread when somebody asks and the last results are over a second old."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._changed = threading.Condition()
        # Each result and its time.
        self._results = dict.fromkeys(checks, (False, -_USABLE_S))
        self._checked_at = -_USABLE_S
        self._began_at: float | None = None

    def latest(self, *, within_s: float) -> Mapping[str, bool]:
        """Return the results; while the checks take longer than this, those of the last seconds."""
        with self._changed:
            now = time.monotonic()
            if now - self._checked_at >= _FRESH_S:
                if self._began_at is None:
                    self._began_at = now
                    threading.Thread(target=self._run, name="health", daemon=True).start()
                is_known = now - self._checked_at < _USABLE_S
                waits_s = _BRIEFLY_S if is_known else self._began_at + within_s - now
                self._changed.wait_for(lambda: self._checked_at >= now, timeout=waits_s)
            since = time.monotonic() - _USABLE_S
            return {name: passed and at > since for name, (passed, at) in self._results.items()}

    def _run(self) -> None:
        for name in self._checks:
            passed = self._passes(name)
            with self._changed:
                self._results[name] = passed, time.monotonic()
        with self._changed:
            self._checked_at, self._began_at = time.monotonic(), None
            self._changed.notify_all()

    def _passes(self, name: str) -> bool:
        try:
            return self._checks[name]()
        except Exception:
            # A run that does not end would leave every later one without an answer.
            logger.exception("the check of %s failed", name)
            return False


def _require(results: Mapping[str, bool], needed: Set[str]) -> None:
    if not all(results[name] for name in needed):
        raise ServiceUnavailable("The service is not ready.", retry_after_s=1)


def _answer(status: str, **more: Any) -> Response:
    return jsonify({"status": status, "time": iso_utc(utc_now()), **more})
