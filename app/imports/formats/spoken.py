"""A talk with times, as subtitles and call analyses give it, in the native form."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.imports.formats.items import MOST_MESSAGES, Fault, Kind, Unreadable


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says in one go; times are milliseconds from the beginning."""

    role: str
    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    author: str | None = None


def require_order(start_ms: int | None, end_ms: int | None, line: int = 0) -> None:
    """Refuse what ends before it begins."""
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        raise Unreadable(Fault.VALIDATION_ERROR, "This ends before it begins.", line)


def bounded(turns: Iterable[Turn]) -> list[Turn]:
    """Gather turns, and refuse as soon as there are too many."""
    found: list[Turn] = []
    for turn in turns:
        if len(found) == MOST_MESSAGES:
            message = f"One conversation may have at most {MOST_MESSAGES} messages."
            raise Unreadable(Fault.TOO_LONG, message)
        found.append(turn)
    if not found:
        raise Unreadable(Fault.NO_MESSAGES, "Nobody says anything here.")
    return found


def record(
    turns: Sequence[Turn], *, channel: str | None, **fields: Any
) -> tuple[Kind, dict[str, Any]]:
    """Build a call of the turns, or a conversation where the channel is chat.

    A message has a moment and not an offset: without the moment of the beginning it stays null,
    and the offset goes into the metadata.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if channel == "chat":
        given.pop("durationSeconds", None)
        return Kind.CONVERSATION, {**given, "messages": [_message(turn) for turn in turns]}
    return Kind.VOICE_CALL, {"status": "completed", **given, "turns": [_turn(t) for t in turns]}


def fingerprint(prefix: str, content: object) -> str:
    """Make an external id of what was said, the same for the same content every time."""
    text = json.dumps(content, sort_keys=True, default=repr)
    return f"{prefix}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "role": turn.role,
        "text": turn.text,
        "startMs": turn.start_ms,
        "endMs": turn.end_ms,
    }


def _message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if turn.author:
        message["authorName"] = turn.author
    if turn.start_ms is not None:
        message["metadata"] = {"startMs": turn.start_ms, "endMs": turn.end_ms}
    return message
