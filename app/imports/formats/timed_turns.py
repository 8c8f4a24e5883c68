"""Timed turns of subtitles and call analyses, and the records that they become."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.imports.formats.records import (
    MAX_MESSAGES,
    NO_TEXT,
    TOO_MANY_MESSAGES,
    Fault,
    Kind,
    Unreadable,
)


@dataclass(frozen=True, slots=True)
class TimedTurn:
    """One turn of one speaker; times are milliseconds from the start."""

    role: str
    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    author: str | None = None


def require_order(start_ms: int | None, end_ms: int | None, line: int = 0) -> None:
    """Refuse an end before its start."""
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        raise Unreadable(Fault.VALIDATION_ERROR, "The end is before the start.", line)


def collect_turns(turns: Iterable[TimedTurn]) -> list[TimedTurn]:
    """Collect turns; refuse none, or too many as soon as the limit is passed."""
    collected: list[TimedTurn] = []
    for turn in turns:
        if len(collected) == MAX_MESSAGES:
            raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES)
        collected.append(turn)
    if not collected:
        raise Unreadable(Fault.NO_MESSAGES, NO_TEXT)
    return collected


def record_of(
    turns: Sequence[TimedTurn], *, channel: str | None, **fields: Any
) -> tuple[Kind, dict[str, Any]]:
    """Build the fields of a call, or of a conversation if the channel is chat.

    The start of the conversation is unknown, so its messages have no times; the offsets go into
    their metadata.
    """
    fields = without_nulls(fields)
    if channel == "chat":
        fields.pop("durationSeconds", None)
        return Kind.CONVERSATION, {**fields, "messages": [_message_of(turn) for turn in turns]}
    call_turns = [_call_turn_of(turn) for turn in turns]
    return Kind.VOICE_CALL, {"status": "completed", **fields, "turns": call_turns}


def without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def fingerprint(prefix: str, content: object) -> str:
    """Return an external id that depends only on the content."""
    text = json.dumps(content, sort_keys=True, default=repr)
    return f"{prefix}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _call_turn_of(turn: TimedTurn) -> dict[str, Any]:
    return {
        "role": turn.role,
        "text": turn.text,
        "startMs": turn.start_ms,
        "endMs": turn.end_ms,
    }


def _message_of(turn: TimedTurn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if turn.author:
        message["authorName"] = turn.author
    if turn.start_ms is not None:
        message["metadata"] = {"startMs": turn.start_ms, "endMs": turn.end_ms}
    return message
