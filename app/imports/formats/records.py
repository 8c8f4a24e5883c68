"""Entries of an import file: records in the native form, with their roles and turns, and bad lines."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, TypeAlias

from app.evaluations.enums import MAX_MESSAGES

TOO_MANY_MESSAGES = f"A conversation may have at most {MAX_MESSAGES} messages."
_NO_TEXT = "The conversation has no text."
ROLES = ("customer", "agent", "bot", "system")


class Kind(StrEnum):
    CONVERSATION = "conversation"
    VOICE_CALL = "voice_call"
    CAMPAIGN = "campaign"
    CALL_CENTER = "call_center"
    EXECUTIVE = "executive"


class Fault(StrEnum):
    """The reason why a line or a record was refused."""

    MALFORMED = "MALFORMED"
    COLUMNS = "COLUMNS"
    UNKNOWN_FORMAT = "UNKNOWN_FORMAT"
    NOT_UTF8 = "NOT_UTF8"
    TOO_LONG = "TOO_LONG"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    UNKNOWN_ROLE = "UNKNOWN_ROLE"
    UNKNOWN_NAME = "UNKNOWN_NAME"
    NO_MESSAGES = "NO_MESSAGES"
    DUPLICATE = "DUPLICATE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    CONFLICT = "CONFLICT"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class NativeRecord:
    """A record in the native form, not validated yet; `line` is its first line, from 1."""

    line: int
    kind: str
    fields: dict[str, Any]

    @property
    def external_id(self) -> str | None:
        """The external id as the source gives it, if it is a string."""
        external_id = self.fields.get("externalId")
        return external_id if isinstance(external_id, str) else None


@dataclass(frozen=True, slots=True)
class BadLine:
    """An unreadable or refused record, and the reason in a sentence; a whole file has line 0."""

    line: int
    code: Fault
    message: str
    external_id: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The options of a reader.

    Args:
        roles: maps speakers' names and words of the source to roles of the API.
        channel: with `chat`, a transcript becomes a conversation instead of a call; else the
            channel of the call, None to tell it by the roles.
        external_id: the caller's key of a file that is one record and has no key of its own.
        columns: maps columns of CSV to fields, by their names.
        timezone: IANA name of the time zone of times without an offset.
        preset: names the system whose columns of CSV are known (see `presets`).
        kept_columns: as `columns`, but a file need not have them.
        names_agents: whether a conversation's agent is the only one who has written to the customer.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    channel: str | None = None
    external_id: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    preset: str | None = None
    kept_columns: Mapping[str, str] = field(default_factory=dict)
    names_agents: bool = False


Entries: TypeAlias = Iterator[NativeRecord | BadLine]


Reader: TypeAlias = Callable[[BinaryIO, ReaderOptions], Entries]


class Unreadable(Exception):
    """A record cannot be read; its reader turns this into a `BadLine`."""

    def __init__(self, code: Fault, message: str, line: int = 0) -> None:
        self.code, self.message, self.line = code, message, line
        super().__init__(message)


class RoleResolver:
    """Maps words and names to roles, in any case and spacing; the caller's mapping wins."""

    def __init__(
        self, mapping: Mapping[str, str], format_words: Mapping[str, str] | None = None
    ) -> None:
        self._mapping = {_folded(name): role for name, role in mapping.items()}
        words = {**{role: role for role in ROLES}, **(format_words or {})}
        self._roles = {**{_folded(word): role for word, role in words.items()}, **self._mapping}

    def mapped(self, name: object) -> str | None:
        return self._mapping.get(_folded(name)) if isinstance(name, str) else None

    def role_of(self, *words: object, names: Iterable[object] = (), line: int = 0) -> str:
        """Return the mapped role of the first mapped name, else the role of the first known word.

        A name alone has no role: a customer may be called Bot.

        Raises:
            Unreadable: no name is mapped and no word is known.
        """
        names = list(names)
        for name in names:
            if role := self.mapped(name):
                return role
        for word in words:
            if isinstance(word, str) and (role := self._roles.get(_folded(word))):
                return role
        texts = (text for text in (*words, *names) if isinstance(text, str) and text.strip())
        unknown = next(texts, None)
        if unknown is None:
            raise Unreadable(Fault.UNKNOWN_ROLE, "The speaker is missing.", line)
        raise Unreadable(
            Fault.UNKNOWN_ROLE,
            f"The role of {unknown[:80]!r} is unknown: map it to one of {', '.join(ROLES)}.",
            line,
        )


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


@dataclass(frozen=True, slots=True)
class TimedTurn:
    """One turn of one speaker; times are milliseconds from the start.

    `words` have the fields of the API: text, startMs, endMs, confidence.
    """

    role: str
    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    author: str | None = None
    words: Sequence[Mapping[str, Any]] = ()


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
        raise Unreadable(Fault.NO_MESSAGES, _NO_TEXT)
    return collected


def record_of(
    line: int, turns: Sequence[TimedTurn], *, channel: str | None, **fields: Any
) -> NativeRecord:
    """Build a call, or a conversation if the channel is chat.

    The start of the conversation is unknown, so its messages have no times; the offsets go into
    their metadata.
    """
    if channel == "chat":
        fields.pop("durationSeconds", None)
        return conversation_of(line, [_message_of(turn) for turn in turns], **fields)
    fields.pop("subject", None)
    fields["channel"] = channel
    call_turns = [_call_turn_of(turn) for turn in turns]
    fields = {"status": "completed", **_without_nulls(fields), "turns": call_turns}
    return NativeRecord(line, Kind.VOICE_CALL, fields)


def conversation_of(
    line: int, messages: Sequence[Mapping[str, Any]], **fields: Any
) -> NativeRecord:
    """Build a conversation; one without messages is refused."""
    if not messages:
        raise Unreadable(Fault.NO_MESSAGES, _NO_TEXT)
    fields = {**_without_nulls(fields), "messages": messages}
    return NativeRecord(line, Kind.CONVERSATION, fields)


def _without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def fingerprint(prefix: str, content: object) -> str:
    """Return an external id that depends only on the content."""
    text = json.dumps(content, sort_keys=True, default=repr)
    return f"{prefix}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


def _call_turn_of(turn: TimedTurn) -> dict[str, Any]:
    times = {"startMs": turn.start_ms, "endMs": turn.end_ms}
    words = {"words": list(turn.words)} if turn.words else {}
    return {"role": turn.role, "text": turn.text, **times, **words}


def _message_of(turn: TimedTurn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if turn.author:
        message["authorName"] = turn.author
    if turn.start_ms is not None:
        message["metadata"] = {"startMs": turn.start_ms, "endMs": turn.end_ms}
    return message
