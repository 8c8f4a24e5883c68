"""Excerpt of a conversation that fits into a prompt: all of it, or its beginning and its end."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

# A cautious estimate for English; no tokenizer is used.
_BYTES_PER_TOKEN = 3
_LEAST_CHARS = 200
_CUT = " [cut]"


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
