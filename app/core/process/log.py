"""Logs on standard error, with secrets masked: JSON, an object a line, or lines to read."""

import logging
import re
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import orjson

from app.core.clock import utc_now
from app.core.process import owner, traces

_SECRETS = re.compile(
    r"(cqek_[0-9A-Za-z]{4}|cqes_|whsec_)[0-9A-Za-z+/=]+"
    r"|((?:sig|X-Signature|Authorization)[=:]\s*(?:Bearer )?)[^&\s\"']+",
    re.IGNORECASE,
)

_SILENT_S = 60
# What a plain line shows in its own place, or not at all.
_SHOWN = {"time", "level", "logger", "role", "message", "exception"}
_LEFT_OUT = {"host", "process"}

job_id: ContextVar[str] = ContextVar("job_id", default="")


def redact(text: str) -> str:
    """Replace what looks like a key, a secret or a signature."""
    return _SECRETS.sub(lambda match: (match[1] or match[2] or "") + "…", text)


def format_here(wanted: str) -> str:
    """Return the format of this process, plain or json, of the setting."""
    if wanted == "auto":
        return "plain" if sys.stderr.isatty() else "json"
    return wanted


class LogLines(logging.Formatter):
    """Formats a record, without the fields that are empty."""

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
        return self.line_of(line).decode()

    def line_of(self, line: Mapping[str, Any]) -> bytes:
        return orjson.dumps(line)


class PlainLines(LogLines):
    """Formats a record for people: time, level, role and message, then the other fields."""

    def line_of(self, line: Mapping[str, Any]) -> bytes:
        others = [
            f"{name}={value}"
            for name, value in line.items()
            if name not in _SHOWN | _LEFT_OUT and value is not None
        ]
        said = [line.get("message") or line["logger"], *others]
        time_of_day = f"{line['time'].astimezone():%H:%M:%S}"
        text = f"{time_of_day} {line['level']:<7} {line.get('role') or '-':<9} {'  '.join(said)}"
        return "\n".join([text, *filter(None, [line.get("exception")])]).encode()


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


def configure(level: str, log_format: str) -> None:
    """Send every record of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if format_here(log_format) == "plain" else LogLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def formatter() -> LogLines:
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    return next((one for one in formatters if isinstance(one, LogLines)), LogLines())


def name_process(role: str) -> None:
    """Write the role of this process, such as web or sender, into its records."""
    formatter().role = role
