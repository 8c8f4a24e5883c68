"""Asking one question of a model until it is answered: retries, other forms, one repair, one deadline."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from app.core.outgoing_http.model_server import (
    Endpoint,
    EndpointMemory,
    ModelError,
    Reason,
    RequestBody,
)
from app.core.outgoing_http.reply import BodyLimit, HttpClient, Reply
from app.core.process.stopping import backoff_s, pause, wait_for
from app.judge.language_model.prompt import ChatMessages, with_repair
from app.judge.language_model.questions import (
    Question,
    answer_problems,
    document_in,
    problems_of,
)
from app.judge.language_model.reading import answer_schema

logger = logging.getLogger(__name__)
_MAX_RETRIES = 3
_SEED = 7
# The forms of answers; a server that refuses one gets the next.
FORMS = ("json_schema", "json_object", "text")
# Members that a server may refuse by name and that the answer does not need.
_DISPENSABLE = ("temperature", "seed", "max_tokens")
_REFUSED = frozenset({400, 404, 415, 422, 501})
_LEAST_TIME_S = 0.05
# A few thousand tokens and their wrapping; a larger body cannot be a valid answer.
ANSWER_BODY = BodyLimit(2 * 1024 * 1024, within_s=None)


@dataclass(slots=True)
class ModelUsage:
    """Requests, tokens and time so far."""

    requests: int = 0
    retries: int = 0
    repairs: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    tokens_known: bool = True
    latency_ms: int = 0
    form: str = FORMS[0]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The answer of a model: a document with `answers`, each of which may still be unusable."""

    document: dict[str, Any]
    model: str | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in seconds of one request and of all, and the tokens of an answer."""

    timeout_s: float
    deadline_s: float
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """Answer of a model; the counts are None if the server does not report them."""

    content: str
    model: str | None
    request_id: str | None
    prompt_tokens: int | None
    answer_tokens: int | None


class _NotSent(ModelError):
    """No request was made; an earlier failure is the better reason."""


@dataclass(slots=True)
class Asking:
    """Asks the questions about one conversation; not to be shared between threads.

    `usage` is valid without an answer, too.
    """

    endpoint: Endpoint
    memory: EndpointMemory
    limits: Limits
    open_sender: Callable[[], HttpClient]
    should_stop: Callable[[], bool]
    usage: ModelUsage = field(default_factory=ModelUsage)
    _until: float = 0.0
    # Refused here. It is remembered only if the server accepts the request without it: the reason
    # of a refusal may be this conversation.
    _form: int = 0
    _without: tuple[str, ...] = ()

    def ask(self, messages: ChatMessages, questions: Sequence[Question]) -> ModelReply:
        """Ask, and once more if the answer does not have the requested form.

        Raises:
            ModelError: there is no answer, or none in which a single question is answered.
            Stopped: the work has to end.
        """
        self._until = time.monotonic() + self.limits.deadline_s
        began_at = time.monotonic()
        try:
            with closing(self.open_sender()) as sender:
                return self._answered(sender, messages, questions)
        finally:
            self.usage.latency_ms = round((time.monotonic() - began_at) * 1000)

    def _answered(
        self, sender: HttpClient, messages: ChatMessages, questions: Sequence[Question]
    ) -> ModelReply:
        schema = answer_schema(questions)
        completion = self._completed(sender, messages, schema)
        document = document_in(completion.content)
        problems = problems_of(document, questions)
        if problems:
            self.usage.repairs += 1
            again = with_repair(messages, completion.content, problems)
            try:
                completion = self._completed(sender, again, schema)
            except ModelError as error:
                logger.warning("the judge's repair was not answered: %s", error.message)
            else:
                repaired = document_in(completion.content)
                document = document if repaired is None else repaired
        if document is None or not self._any_usable(document, questions):
            raise ModelError(
                Reason.INVALID_OUTPUT, "The model did not answer in the requested form."
            )
        return ModelReply(document, completion.model, completion.request_id)

    @staticmethod
    def _any_usable(document: dict[str, Any], questions: Sequence[Question]) -> bool:
        answers = document["answers"]
        return any(
            not answer_problems(answers.get(question.id), question) for question in questions
        )

    def _completed(
        self, sender: HttpClient, messages: ChatMessages, schema: dict[str, Any]
    ) -> Completion:
        before: ModelError | None = None
        while True:
            try:
                completion = self._attempted(sender, messages, schema)
            except ModelError as error:
                if isinstance(error, _NotSent) and before is not None:
                    raise before from error
                if not self._may_try_again(error):
                    raise
                before = error
            else:
                self._count(completion)
                return completion

    def _attempted(
        self, sender: HttpClient, messages: ChatMessages, schema: dict[str, Any]
    ) -> Completion:
        left_s = self._until - time.monotonic()
        if left_s < _LEAST_TIME_S:
            raise _NotSent(Reason.TIMEOUT, "The time for this conversation is over.")
        if not self.memory.may_call(self.limits.timeout_s):
            message = "The model server failed too often; requests resume within 30 seconds."
            raise _NotSent(Reason.CIRCUIT_OPEN, message)
        self.usage.requests += 1
        call = partial(
            complete,
            self.endpoint,
            sender,
            self._request(messages, schema),
            timeout_s=min(self.limits.timeout_s, left_s),
        )
        try:
            completion = wait_for(call, self.should_stop, sender.close)
        except ModelError as error:
            self._note(error)
            raise
        self.memory.succeeded()
        self._remember()
        return completion

    def _request(self, messages: ChatMessages, schema: dict[str, Any]) -> dict[str, Any]:
        self.usage.form = form = FORMS[self._step]
        request: dict[str, Any] = {
            "messages": messages,
            "temperature": 0,
            "seed": _SEED,
            "max_tokens": self.limits.output_tokens,
        }
        for name in (*self.memory.without, *self._without):
            request.pop(name, None)
        if form == "json_schema":
            json_schema = {"name": "judgement", "strict": True, "schema": schema}
            request["response_format"] = {"type": form, "json_schema": json_schema}
        elif form == "json_object":
            request["response_format"] = {"type": form}
        return request

    def _note(self, error: ModelError) -> None:
        """Record a failure of the endpoint in the memory; a refused request does not count."""
        logger.warning("the judge's endpoint: %s", error.message)
        if error.detail:
            # Some servers repeat the request, which contains the conversation.
            logger.debug("the endpoint's message: %s", error.detail)
        if error.reason in (Reason.TIMEOUT, Reason.ANSWER_TOO_LARGE):
            # The model may have produced tokens that are billed.
            self.usage.tokens_known = False
        if error.retryable or error.status in (401, 403) or error.reason is Reason.TLS_ERROR:
            self.memory.failed()
        else:
            self.memory.succeeded()

    def _may_try_again(self, error: ModelError) -> bool:
        """Prepare the next attempt: in another form at once, or the same after a pause."""
        if error.status in _REFUSED:
            return self._changes_form(error)
        if not error.retryable or self.usage.retries >= _MAX_RETRIES:
            return False
        wait_s = backoff_s(self.usage.retries, at_least_s=error.retry_after_s)
        if time.monotonic() + wait_s + _LEAST_TIME_S > self._until:
            return False
        self.usage.retries += 1
        pause(wait_s, self.should_stop)
        return True

    def _changes_form(self, error: ModelError) -> bool:
        for member in _DISPENSABLE:
            if member in error.detail and member not in (*self.memory.without, *self._without):
                self._without += (member,)
                return True
        if error.status != 404 and self._step < len(FORMS) - 1:
            self._form = self._step + 1
            return True
        return False

    @property
    def _step(self) -> int:
        return min(max(self._form, self.memory.form), len(FORMS) - 1)

    def _remember(self) -> None:
        for member in set(self._without).difference(self.memory.without):
            self.memory.refused(member=member)
        if self._form > self.memory.form:
            self.memory.refused(form=self._form)

    def _count(self, completion: Completion) -> None:
        if completion.prompt_tokens is None or completion.answer_tokens is None:
            self.usage.tokens_known = False
            return
        self.usage.prompt_tokens += completion.prompt_tokens
        self.usage.answer_tokens += completion.answer_tokens


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
