"""Logs: one JSON object a line on standard error, with secrets masked."""

import logging
import re
import sys
import time
from contextvars import ContextVar

import orjson

from app.core.clock import utc_now
from app.core.process import owner, traces

_SECRETS = re.compile(
    r"(cqek_[0-9A-Za-z]{4}|cqes_|whsec_)[0-9A-Za-z+/=]+"
    r"|((?:sig|X-Signature|Authorization)[=:]\s*(?:Bearer )?)[^&\s\"']+",
    re.IGNORECASE,
)

_SILENT_S = 60

job_id: ContextVar[str] = ContextVar("job_id", default="")


def redact(text: str) -> str:
    """Replace what looks like a key, a secret or a signature."""
    return _SECRETS.sub(lambda match: (match[1] or match[2] or "") + "…", text)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, without the fields that are empty."""

    role = ""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": utc_now(),
            "level": record.levelname,
            "logger": record.name,
            "host": owner.host_name(),
            "role": self.role,
            "process": record.process,
            "message": redact(record.getMessage()),
            "requestId": getattr(record, "request_id", None),
            "jobId": job_id.get(),
            "traceId": traces.trace_id(),
        }
        line = {name: value for name, value in line.items() if value}
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


class OnceAMinute(logging.Filter):
    """Passes each message of a logger once a minute: for what goes wrong in every request or tick."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_until: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether this message was not passed within the last minute."""
        now, message = time.monotonic(), record.getMessage()
        self._silent_until = {
            text: until for text, until in self._silent_until.items() if until > now
        }
        if message in self._silent_until:
            return False
        self._silent_until[message] = now + _SILENT_S
        return True


def configure(level: str) -> None:
    """Send every record of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def name_process(role: str) -> None:
    """Write the role of this process, such as web or sender, into its records."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonLines):
            handler.formatter.role = role
