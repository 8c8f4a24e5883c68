"""One request to an OpenAI-compatible server: its answer, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from secrets import token_hex
from typing import Self

import orjson

from app.core.clock import utc_now
from app.core.outgoing_http.addresses import ANYWHERE
from app.core.outgoing_http.reply import AttemptOutcome, BodyLimit, HttpClient, Reply
from app.core.outgoing_http.retry_after import retry_after_s

_RETRYABLE_STATUS = frozenset({408, 409, 429})
_SHOWN_CHARS = 300


class Reason(StrEnum):
    """Reason why there is no usable answer."""

    TIMEOUT = "timeout"
    CONNECTION_ERROR = "connection_error"
    TLS_ERROR = "tls_error"
    HTTP_ERROR = "http_error"
    RATE_LIMITED = "rate_limited"
    ANSWER_TOO_LARGE = "answer_too_large"
    INVALID_OUTPUT = "invalid_output"
    INPUT_TOO_LONG = "input_too_long"
    CIRCUIT_OPEN = "circuit_open"


class ModelError(Exception):
    """There is no answer; `message` repeats nothing that the server sent.

    `detail` is the server's own message, only for the operator. `connected` is false if no request
    was sent, since no connection could be made.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after_s: float = 0.0,
        detail: str = "",
        connected: bool = True,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.detail = detail
        self.connected = connected


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of a request and its content type."""

    content_type: str
    data: bytes

    @classmethod
    def form(cls, fields: Sequence[tuple[str, str]], *, wav: bytes) -> Self:
        """Make a form of these fields, which may repeat, and a sound file."""
        boundary = token_hex(16)
        opening = f'--{boundary}\r\nContent-Disposition: form-data; name="'
        parts = [f'{opening}{name}"\r\n\r\n{value}\r\n' for name, value in fields]
        head = f'{opening}file"; filename="speech.wav"\r\nContent-Type: audio/wav\r\n\r\n'
        data = "".join([*parts, head]).encode() + wav + f"\r\n--{boundary}--\r\n".encode()
        return cls(f"multipart/form-data; boundary={boundary}", data)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address and name of the model, and the key, which is sent only in a header.

    `largest` limits the answers that are read.
    """

    url: str
    model: str
    api_key: str
    largest: BodyLimit

    def open_client(self, *, ca_bundle: str) -> HttpClient:
        """Open a client for this endpoint; the operator's own machines may be reached."""
        # Not at the top: the library takes long to import, and few processes send requests.
        from app.core.outgoing_http.client import RequestsClient  # noqa: PLC0415

        return RequestsClient(ANYWHERE, ca_bundle=ca_bundle, body=self.largest)

    def post(self, client: HttpClient, path: str, body: RequestBody, *, timeout_s: float) -> Reply:
        """Send a request and return its complete, successful answer.

        Raises:
            ModelError: with the reason, and whether another attempt may help.
        """
        headers = {"Content-Type": body.content_type, "Accept": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        reply = client.post(
            f"{self.url}{path}", headers=headers, body=body.data, timeout_s=timeout_s
        )
        if reply.outcome is not AttemptOutcome.SUCCESS:
            raise self._failure(reply, timeout_s)
        if reply.truncated and len(reply.body) >= self.largest.max_bytes:
            raise ModelError(Reason.ANSWER_TOO_LARGE, "The answer of the endpoint does not end.")
        if reply.truncated:
            message = "The model server's answer was cut off or took too long."
            raise ModelError(Reason.TIMEOUT, message, retryable=True)
        return reply

    def _failure(self, reply: Reply, timeout_s: float) -> ModelError:
        if reply.status_code is None:
            return _unanswered(reply, timeout_s)
        status = reply.status_code
        return ModelError(
            Reason.RATE_LIMITED if status == 429 else Reason.HTTP_ERROR,
            f"The model server answered with the status {status}.",
            retryable=status in _RETRYABLE_STATUS or status >= 500,
            status=status,
            retry_after_s=retry_after_s(reply.headers.get("retry-after", ""), utc_now()),
            detail=self._error_in(reply.body),
        )

    def _error_in(self, body: bytes) -> str:
        text = body.decode("utf-8", "replace")
        try:
            error = orjson.loads(body)["error"]
            text = error if isinstance(error, str) else error["message"]
        except (ValueError, KeyError, TypeError):
            pass
        text = " ".join(str(text).split())
        return (text.replace(self.api_key, "…") if self.api_key else text)[:_SHOWN_CHARS]


def _unanswered(reply: Reply, timeout_s: float) -> ModelError:
    if reply.outcome is AttemptOutcome.TIMEOUT:
        message = f"The model server did not answer within {timeout_s:.3g} s."
        return ModelError(Reason.TIMEOUT, message, retryable=True, connected=reply.connected)
    message = reply.error or "The model server could not be reached."
    if reply.outcome is AttemptOutcome.TLS_ERROR:
        return ModelError(Reason.TLS_ERROR, message, connected=reply.connected)
    return ModelError(Reason.CONNECTION_ERROR, message, retryable=True, connected=reply.connected)
