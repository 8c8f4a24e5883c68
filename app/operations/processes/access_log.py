"""Logs of the web server as JSON lines; an access line has the path but no query string."""

import logging
import sys
from typing import Any

import orjson
from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from app.core.clock import utc_now
from app.core.process.log import JsonLines, redact


class AccessLog(Logger):  # type: ignore[misc]
    """Gunicorn's logger, writing JSON lines to standard error."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for logger, formatter in (
            (self.error_log, JsonLines()),
            (self.access_log, logging.Formatter("%(message)s")),
        ):
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(formatter)
            logger.handlers[:] = [handler]
            logger.propagate = False

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> None:
        if not self.access_log_enabled:
            return
        headers = dict(resp.headers)
        line = {
            "time": utc_now(),
            "level": "INFO",
            "logger": "access",
            "requestId": headers.get("X-Request-Id"),
            "client": environ.get("REMOTE_ADDR"),
            "method": environ.get("REQUEST_METHOD"),
            "path": redact(environ.get("PATH_INFO", "")),
            "status": resp.status_code,
            "bytes": resp.sent,
            "milliseconds": round(request_time.total_seconds() * 1000, 1),
        }
        self.access_log.info(orjson.dumps(line).decode())
