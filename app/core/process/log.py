"""Logs: one JSON object a line on standard error, with secrets masked."""

import logging
import re
import sys

import orjson

from app.core.clock import utc_now

_SECRETS = re.compile(
    r"(cqek_[0-9A-Za-z]{4}|cqes_|whsec_)[0-9A-Za-z+/=]+"
    r"|((?:sig|X-Signature|Authorization)[=:]\s*(?:Bearer )?)[^&\s\"']+",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """Replace what looks like a key, a secret or a signature."""
    return _SECRETS.sub(lambda match: (match[1] or match[2] or "") + "…", text)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": utc_now(),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": redact(record.getMessage()),
        }
        request_id = getattr(record, "request_id", None)
        if request_id:
            line["requestId"] = request_id
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return orjson.dumps(line).decode()


def configure(level: str) -> None:
    """Send every record of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
