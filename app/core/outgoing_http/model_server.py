"""Requests to an OpenAI-compatible server, and the memory of whether it answers.

The memory is shared by the workers in one small file in the data folder, since most of their
processes live for one job. When two write at once the later one wins: a lost count costs a request,
never a result.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Self

import orjson

from app.core.clock import utc_now
from app.core.outgoing_http.addresses import ANYWHERE
from app.core.outgoing_http.reply import AttemptOutcome, BodyLimit, HttpClient, Reply, retry_after_s

logger = logging.getLogger(__name__)
FAILURES_TO_OPEN = 5
OPEN_S = 30.0
# The next version of a server may accept what this one refuses.
_REFUSALS_HOLD_S = 3600.0
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
        with suppress(ValueError, KeyError, TypeError):
            error = orjson.loads(body)["error"]
            text = error if isinstance(error, str) else error["message"]
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


@dataclass(frozen=True, slots=True)
class _State:
    endpoint: str
    failures: int = 0
    open_until: float = 0.0
    form: int = 0
    without: tuple[str, ...] = ()
    refusals_until: float = 0.0


class EndpointMemory:
    """A circuit breaker, and the answer forms and request members that the endpoint refuses."""

    def __init__(self, file: Path, endpoint: str, *, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._endpoint = hashlib.sha256(endpoint.encode()).hexdigest()
        self._now = now
        self._lock = threading.Lock()

    def may_call(self, trial_s: float) -> bool:
        """Return whether a request may be sent: the circuit is closed, or one caller tests it.

        Args:
            trial_s: how long the others wait for the one that tries.
        """
        with self._lock:
            state = self._read()
            if state.failures < FAILURES_TO_OPEN:
                return True
            if self._now() < state.open_until:
                return False
            self._write(replace(state, open_until=self._now() + trial_s))
            return True

    def is_open(self) -> bool:
        """Return whether the circuit is open, so that no request may be sent."""
        with self._lock:
            state = self._read()
        return state.failures >= FAILURES_TO_OPEN and self._now() < state.open_until

    def succeeded(self) -> None:
        with self._lock:
            state = self._read()
            if state.failures:
                self._write(replace(state, failures=0, open_until=0.0))

    def failed(self) -> None:
        """Count a failure; the fifth in a row opens the circuit for half a minute."""
        with self._lock:
            state = self._read()
            failures = state.failures + 1
            open_until = self._now() + OPEN_S if failures >= FAILURES_TO_OPEN else 0.0
            self._write(replace(state, failures=failures, open_until=open_until))

    @property
    def form(self) -> int:
        """The step of the ladder of answer forms that the endpoint takes."""
        return self._refusals().form

    @property
    def without(self) -> tuple[str, ...]:
        """The members of a request that the endpoint refuses."""
        return self._refusals().without

    def refused(self, *, form: int | None = None, member: str | None = None) -> None:
        """Remember a refused answer form or member for an hour."""
        with self._lock:
            state = self._read()
            current = (
                state if self._now() < state.refusals_until else replace(state, form=0, without=())
            )
            self._write(
                replace(
                    current,
                    form=current.form if form is None else form,
                    without=current.without if member is None else (*current.without, member),
                    refusals_until=self._now() + _REFUSALS_HOLD_S,
                )
            )

    def _refusals(self) -> _State:
        with self._lock:
            state = self._read()
        return state if self._now() < state.refusals_until else _State(self._endpoint)

    def _read(self) -> _State:
        try:
            document = orjson.loads(self._file.read_bytes())
            state = _State(**{field.name: document[field.name] for field in fields(_State)})
        except (OSError, ValueError, KeyError, TypeError):
            return _State(self._endpoint)
        if state.endpoint != self._endpoint:
            return _State(self._endpoint)
        return replace(state, without=tuple(state.without))

    def _write(self, state: _State) -> None:
        temporary = self._file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        try:
            temporary.write_bytes(orjson.dumps(asdict(state)))
            temporary.replace(self._file)
        except OSError as error:
            logger.warning("the state of an endpoint was not stored: %s", error)
            with suppress(OSError):
                temporary.unlink()
