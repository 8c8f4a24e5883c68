"""Chat completions of an OpenAI-compatible server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from app.ai.model_server.endpoint import Endpoint, ModelError, Reason, RequestBody
from app.core.outgoing_http.reply import BodyLimit, HttpClient, Reply

# A few thousand tokens and their wrapping; a larger body cannot be a valid answer.
ANSWER_BODY = BodyLimit(2 * 1024 * 1024, within_s=None)


@dataclass(frozen=True, slots=True)
class Completion:
    """Answer of a model; the counts are None if the server does not report them."""

    content: str
    model: str | None
    request_id: str | None
    prompt_tokens: int | None
    answer_tokens: int | None


def complete(
    endpoint: Endpoint, client: HttpClient, request: Mapping[str, Any], *, timeout_s: float
) -> Completion:
    """Send a chat completion request.

    Raises:
        ModelError: with the reason, and whether another attempt may help.
    """
    body = orjson.dumps({"model": endpoint.model, **request})
    return _completion(
        endpoint.post(
            client,
            "/chat/completions",
            RequestBody("application/json", body),
            timeout_s=timeout_s,
        )
    )


def _completion(reply: Reply) -> Completion:
    try:
        document = orjson.loads(reply.body)
        content = document["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        document, content = {}, None
    if not isinstance(content, str):
        raise ModelError(
            Reason.INVALID_OUTPUT, "The model server's answer is not a chat completion with a text."
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
