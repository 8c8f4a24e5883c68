"""Prompt about one conversation: a versioned text, the questions, and the messages as data."""

import math
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

import orjson

from app.core.json_documents import digest_of
from app.core.outgoing_http.model_server import Endpoint, ModelError, Reason
from app.judge.dialogue.instructions import lines_with_instructions
from app.judge.dialogue.turns import Dialogue
from app.judge.language_model.questions import Question, questions_of
from app.judge.scorecard.values import Criterion
from app.redaction.masking import MaskedTurn, mask_segments
from app.transcript import Segment, Transcript

PROMPT_FILE = Path(__file__).parent / "prompts" / "judge-3.toml"
# For the marks, the two sentences around the conversation, and the chat format.
_WRAPPING_TOKENS = 150
_LEAST_TOKENS = 100
# A cautious estimate for English; no tokenizer is used.
_BYTES_PER_TOKEN = 3
_LEAST_CHARS = 200
_CUT = " [cut]"

ChatMessages: TypeAlias = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The texts of one version; each is a template."""

    version: str
    system: Template
    user: Template
    repair: Template


@lru_cache(maxsize=1)
def shipped_prompt() -> Prompt:
    """Read the prompt that this version of the service ships."""
    texts: dict[str, Any] = tomllib.loads(PROMPT_FILE.read_text("utf-8"))
    return Prompt(
        version=texts["version"],
        system=Template(texts["system"].strip()),
        user=Template(texts["user"].strip()),
        repair=Template(texts["repair"].strip()),
    )


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One line of the conversation as the model is shown it; `number` counts from 1."""

    number: int
    role: str
    text: str

    def as_json(self) -> dict[str, Any]:
        return {"n": self.number, "role": self.role, "text": self.text}


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The messages of a conversation that the model is shown.

    `omitted` counts the messages that are left out of the middle, `shortened` those of which only
    the beginning is shown.
    """

    head: tuple[PromptMessage, ...]
    tail: tuple[PromptMessage, ...] = ()
    omitted: int = 0
    shortened: int = 0

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        return self.head + self.tail

    def as_json(self) -> str:
        """Write the JSON array that the prompt holds."""
        gap = [{"omitted": self.omitted}] if self.omitted else []
        shown = [
            *(message.as_json() for message in self.head),
            *gap,
            *(message.as_json() for message in self.tail),
        ]
        return orjson.dumps(shown).decode()


@dataclass(frozen=True, slots=True)
class Source:
    """A message as it was shown, and the segment with the words that it replaces.

    What `addresses_judge` is quoted as evidence of nothing.
    """

    shown: PromptMessage
    segment: Segment
    masked: MaskedTurn
    addresses_judge: bool = False


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """The questions about a conversation, and what is shown of it.

    The number of a message is that of its segment: 3 is `seg_0003`.
    """

    questions: tuple[Question, ...]
    system: str
    excerpt: Excerpt
    sources: Mapping[int, Source]

    @property
    def masked_count(self) -> int:
        """Number of masked stretches in the shown messages."""
        return sum(len(source.masked.originals) for source in self.sources.values())

    def messages(self) -> ChatMessages:
        """Put the conversation between two random marks, which no message can imitate."""
        mark = f"=== {secrets.token_hex(16)} ==="
        data = shipped_prompt().user.substitute(mark=mark, messages=self.excerpt.as_json())
        return [{"role": "system", "content": self.system}, {"role": "user", "content": data}]

    def key(self, endpoint: Endpoint, output_tokens: int) -> str:
        """Hash all that an answer depends on: the prompt without its marks, and the model."""
        return digest_of(
            {
                "promptVersion": shipped_prompt().version,
                "url": endpoint.url,
                "model": endpoint.model,
                "outputTokens": output_tokens,
                "system": self.system,
                "messages": self.excerpt.as_json(),
            }
        )


def prompt_request_of(
    dialogue: Dialogue, criteria: Sequence[Criterion], *, input_tokens: int, mask: bool
) -> PromptRequest:
    """Prepare the questions about a dialogue.

    Raises:
        ModelError: the questions leave no room for the conversation.
    """
    questions = questions_of(criteria)
    question_texts = b"\n".join(orjson.dumps(question.as_json()) for question in questions).decode()
    # Equal for all conversations of a scorecard, so that servers may keep it.
    system = shipped_prompt().system.substitute(questions=question_texts)
    segments = {line.segment.index + 1: line.segment for line in dialogue.lines}
    masked = _masked_turns(dialogue.transcript, mask=mask)
    messages = [
        PromptMessage(number, segment.role.value, masked[segment.id].text)
        for number, segment in segments.items()
    ]
    budget = input_tokens - tokens_of(system) - _WRAPPING_TOKENS
    excerpt = excerpt_of(messages, budget) if budget >= _LEAST_TOKENS else None
    if excerpt is None:
        message = "The questions leave no room for the conversation: raise CQE_JUDGE_INPUT_TOKENS."
        raise ModelError(Reason.INPUT_TOO_LONG, message)
    steering = {line.segment.index + 1 for line in lines_with_instructions(dialogue.lines)}
    sources = {
        message.number: Source(
            message,
            segments[message.number],
            masked[segments[message.number].id],
            addresses_judge=message.number in steering,
        )
        for message in excerpt.messages
    }
    return PromptRequest(questions, system, excerpt, sources)


def with_repair(messages: ChatMessages, answer: str, problems: Sequence[str]) -> ChatMessages:
    """Show the model its answer and what is wrong with it."""
    repair = shipped_prompt().repair.substitute(
        problems="\n".join(f"- {problem}" for problem in problems)
    )
    return [
        *messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": repair},
    ]


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text, rather too many than too few."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def excerpt_of(messages: Sequence[PromptMessage], budget: int) -> Excerpt | None:
    """Show what fits into `budget` tokens: by turns from the beginning and from the end.

    No message takes more than a quarter of the budget. None where not even the first and the last
    fit.
    """
    shortened = [_shortened(message, budget // 4) for message in messages]
    cut = sum(1 for message, whole in zip(shortened, messages, strict=True) if message is not whole)
    head: list[PromptMessage] = []
    tail: list[PromptMessage] = []
    tokens_left = budget
    while len(head) + len(tail) < len(shortened):
        from_head = len(head) <= len(tail)
        side, message = (
            (head, shortened[len(head)]) if from_head else (tail, shortened[-1 - len(tail)])
        )
        tokens_left -= tokens_of(orjson.dumps(message.as_json()).decode()) + 1
        if tokens_left < 0:
            break
        side.append(message)
    omitted = len(shortened) - len(head) - len(tail)
    if omitted and not (head and tail):
        return None
    return Excerpt(tuple(head), tuple(reversed(tail)), omitted, cut)


def _shortened(message: PromptMessage, budget: int) -> PromptMessage:
    if tokens_of(message.text) <= budget:
        return message
    text = message.text
    while tokens_of(text) > budget and len(text) > _LEAST_CHARS:
        text = text[: max(_LEAST_CHARS, len(text) * budget // (tokens_of(text) + 1))]
    return replace(message, text=text + _CUT)


def _masked_turns(transcript: Transcript, *, mask: bool) -> dict[str, MaskedTurn]:
    """Map the ids of segments to their texts, masked unless they are masked already or `mask` is off."""
    if mask and not transcript.redacted:
        turns = mask_segments(transcript)
    else:
        turns = [MaskedTurn(segment.text, (), ()) for segment in transcript.segments]
    return {segment.id: turn for segment, turn in zip(transcript.segments, turns, strict=True)}
