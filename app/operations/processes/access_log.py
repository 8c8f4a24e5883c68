"""Logs of the web server; an access line has the path but no query string."""

import logging
import os
import re
import sys
from contextlib import suppress
from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from app.core.clock import utc_now
from app.core.hosts import WEB
from app.core.process import log
from app.core.process.log import redact
from app.core.process.owner import host_name

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class AccessLog(Logger):  # type: ignore[misc]
    """Gunicorn's logger, in the format of this process."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self._formatter = log.formatter()
        self._formatter.role = WEB
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(self._formatter)
        self.error_log.handlers[:] = [handler]
        self.error_log.propagate = False

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> None:
        caller_id = environ.get("HTTP_X_REQUEST_ID", "")
        line = {
            "time": utc_now(),
            "level": "INFO",
            "logger": "access",
            "host": host_name(),
            "role": WEB,
            "requestId": dict(resp.headers).get("X-Request-Id"),
            "callerRequestId": caller_id if _REQUEST_ID.fullmatch(caller_id) else None,
            "client": environ.get("REMOTE_ADDR"),
            "method": environ.get("REQUEST_METHOD"),
            "path": redact(environ.get("PATH_INFO", "")),
            # The answer to a request that could not be read has no `status_code`.
            "status": int(str(resp.status).partition(" ")[0]),
            "bytes": resp.sent,
            "milliseconds": round(request_time.total_seconds() * 1000, 1),
        }
        # Python's logging takes three times as long as the rest of this.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), self._formatter.line_of(line) + b"\n")
