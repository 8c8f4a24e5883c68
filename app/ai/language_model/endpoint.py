"""One request to an OpenAI-compatible endpoint: what it answered, or what was wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from app.core.clock import utc_now
from app.core.outgoing_http.reply import AttemptOutcome, BodyLimit, HttpClient, Reply
from app.core.outgoing_http.retry_after import retry_after_s

# A few thousand tokens and their wrapping; more is no answer to a question of ours.
ANSWER_BODY = BodyLimit(2 * 1024 * 1024, within_s=None)
_RETRYABLE_STATUS = frozenset({408, 409, 429})
_SHOWN_CHARS = 300


class Reason(StrEnum):
    """Why a model has not judged."""

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
    """There is no answer; `message` is a sentence of ours and repeats nothing of the server's.

    `detail` is the server's own word, for the operator alone.
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
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote; counts are None where the server tells none."""

    content: str
    model: str | None
    request_id: str | None
    prompt_tokens: int | None
    answer_tokens: int | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is: base address, name, and a key that goes into a header and nowhere else."""

    url: str
    model: str
    api_key: str = ""

    def complete(
        self, sender: HttpClient, request: Mapping[str, Any], *, timeout_s: float
    ) -> Completion:
        """Send a chat completion request.

        Raises:
            ModelError: with the reason, and whether another attempt may help.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        reply = sender.post(
            f"{self.url}/chat/completions",
            headers=headers,
            body=orjson.dumps({"model": self.model, **request}),
            timeout_s=timeout_s,
        )
        if reply.outcome is AttemptOutcome.SUCCESS:
            return _completion(reply)
        raise self._failure(reply, timeout_s)

    def _failure(self, reply: Reply, timeout_s: float) -> ModelError:
        if reply.outcome is AttemptOutcome.TIMEOUT:
            told = f"The endpoint did not answer within {timeout_s:.3g} s."
            return ModelError(Reason.TIMEOUT, told, retryable=True)
        if reply.status_code is None:
            tls = reply.outcome is AttemptOutcome.TLS_ERROR
            told = reply.error or "The endpoint was not reached."
            reason = Reason.TLS_ERROR if tls else Reason.CONNECTION_ERROR
            return ModelError(reason, told, retryable=not tls)
        status = reply.status_code
        return ModelError(
            Reason.RATE_LIMITED if status == 429 else Reason.HTTP_ERROR,
            f"The endpoint answered with the status {status}.",
            retryable=status in _RETRYABLE_STATUS or status >= 500,
            status=status,
            retry_after_s=retry_after_s(reply.headers.get("retry-after", ""), utc_now()),
            detail=self._told_by(reply.body),
        )

    def _told_by(self, body: bytes) -> str:
        text = body.decode("utf-8", "replace")
        try:
            error = orjson.loads(body)["error"]
            text = error if isinstance(error, str) else error["message"]
        except (ValueError, KeyError, TypeError):
            pass
        text = " ".join(str(text).split())
        return (text.replace(self.api_key, "…") if self.api_key else text)[:_SHOWN_CHARS]


def _completion(reply: Reply) -> Completion:
    if reply.truncated and len(reply.body) >= ANSWER_BODY.max_bytes:
        raise ModelError(Reason.ANSWER_TOO_LARGE, "The answer of the endpoint does not end.")
    if reply.truncated:
        told = "The answer of the endpoint broke off, or took too long."
        raise ModelError(Reason.TIMEOUT, told, retryable=True)
    try:
        document = orjson.loads(reply.body)
        content = document["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        document, content = {}, None
    if not isinstance(content, str):
        raise ModelError(
            Reason.INVALID_OUTPUT, "The endpoint's answer is not a chat completion with a text."
        )
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Completion(
        content=content,
        model=_text(document.get("model")),
        request_id=_text(reply.headers.get("x-request-id") or document.get("id")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        answer_tokens=_count(usage.get("completion_tokens")),
    )


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return "".join(char for char in value if char.isprintable())[:200] or None


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value < 1 << 53 else None
