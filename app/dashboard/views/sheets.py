"""Sheets to print: advice short enough for paper, each with what was said and when."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.dashboard.views.conversation import clock

_MOST_ADVICE = 3
_MOST_TEXT, _MOST_QUOTE = 320, 200
# A text repeats a quote if it has this much of its beginning.
_TELLING = 20


@dataclass(frozen=True, slots=True)
class AdvisedConversation:
    """One judged conversation with its advice, as the results of its evaluation have it."""

    evaluation_id: str
    happened_at: datetime
    advice: Mapping[str, Sequence[Mapping[str, Any]]]

    @classmethod
    def of(cls, row: Mapping[str, Any], results: Mapping[str, Any]) -> "AdvisedConversation":
        """Take the advice of results for an evaluation of the list."""
        advice = results["coaching"] or {"strengths": (), "improvements": ()}
        return cls(row["id"], row["conversation_at"], advice)


@dataclass(frozen=True, slots=True)
class SheetAdvice:
    """One strength or improvement on a sheet.

    Attributes:
        quote: words that the text does not quote already; may be empty.
        clock: when they were said, in a recording.
        count: in how many conversations the same criterion was praised, or fell short.
    """

    text: str
    quote: str
    clock: str
    evaluation_id: str
    happened_at: datetime
    count: int


def advice_of(conversation: AdvisedConversation, kind: str) -> list[SheetAdvice]:
    items = conversation.advice[kind][:_MOST_ADVICE]
    return [_shown(item, conversation, 1) for item in items]


def frequent_advice(conversations: Iterable[AdvisedConversation], kind: str) -> list[SheetAdvice]:
    """Return the most frequent advice of several conversations, each as it was given last.

    Args:
        conversations: the newest first.
        kind: `strengths` or `improvements`.
    """
    groups = defaultdict(list)
    for conversation in conversations:
        for item in conversation.advice[kind]:
            groups[item["criterionKey"] or item["text"]].append((item, conversation))
    # The sort is stable: of two that are as frequent, the newer one comes first.
    most_frequent = sorted(groups.values(), key=len, reverse=True)[:_MOST_ADVICE]
    return [_shown(*group[0], len(group)) for group in most_frequent]


def _shown(item: Mapping[str, Any], conversation: AdvisedConversation, count: int) -> SheetAdvice:
    text = item["text"]
    first = next(iter(item["evidence"]), None)
    unquoted = None if first is None or first["quote"][:_TELLING] in text else first
    return SheetAdvice(
        text=_shortened(text, _MOST_TEXT),
        quote=_shortened(unquoted["quote"], _MOST_QUOTE) if unquoted else "",
        clock=clock(unquoted["startMs"]) if unquoted else "",
        evaluation_id=conversation.evaluation_id,
        happened_at=conversation.happened_at,
        count=count,
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
