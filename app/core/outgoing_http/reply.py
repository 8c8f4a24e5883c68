"""Reply to an outgoing request: the answer, or the reason for its absence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol


class AttemptOutcome(StrEnum):
    """Outcome of a request; webhooks show it as the outcome of an attempt."""

    SUCCESS = "success"
    HTTP_ERROR = "http_error"
    TIMEOUT = "timeout"
    CONNECTION_ERROR = "connection_error"
    TLS_ERROR = "tls_error"
    BLOCKED_URL = "blocked_url"
    MAIL_ERROR = "mail_error"


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Limits on reading an answer's body: its size, and the time after the headers.

    Args:
        within_s: None for as long as the whole request may take.
    """

    max_bytes: int
    within_s: float | None


# A webhook's answer is judged by its headers; the body is read for the history, and not for long.
EXCERPT_BYTES = 1024
EXCERPT = BodyLimit(EXCERPT_BYTES, within_s=1.0)


@dataclass(frozen=True, slots=True)
class Reply:
    """Result of one request.

    Args:
        duration_ms: until the outcome was known: the last header, or the failure.
        error: a sentence for people where there was no answer.
        headers: of the answer, names in lower case.
        body: the start of the answer's body, within the client's `BodyLimit`.
        truncated: whether the body was longer, or did not arrive in time.
        is_internal: whether the service itself failed; this says nothing of the receiver.
        connected: whether a connection was made, so that the request may have arrived.
    """

    outcome: AttemptOutcome
    duration_ms: int
    status_code: int | None = None
    error: str | None = None
    ip: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    truncated: bool = False
    is_internal: bool = False
    connected: bool = True

    @property
    def excerpt(self) -> str:
        """The start of the body as text that every database takes, at most 1,024 bytes in UTF-8."""
        text = self.body[:EXCERPT_BYTES].decode("utf-8", "replace")
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return text.encode()[:EXCERPT_BYTES].decode("utf-8", "ignore")


class HttpClient(Protocol):
    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Send, and wait for the status line and the headers, `timeout_s` in all."""

    def get(self, url: str, *, headers: Mapping[str, str], timeout_s: float) -> Reply:
        """Send, and wait as `post` does."""

    def close_idle(self) -> None:
        """Close connections that were not used for a while."""

    def close(self) -> None:
        """Close every connection, also under running requests."""


def retry_after_s(value: str, now: datetime) -> float:
    """Read a Retry-After header, seconds or a date; 0 when it says nothing that is understood."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or a zone of more digits than a C int holds
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
