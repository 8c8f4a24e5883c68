"""Entries of an import file: records in the native form, and unreadable lines."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, TypeAlias

MAX_MESSAGES = 10_000
TOO_MANY_MESSAGES = f"A conversation may have at most {MAX_MESSAGES} messages."
NO_TEXT = "The conversation has no text."


class Kind(StrEnum):
    """The kind of a record."""

    CONVERSATION = "conversation"
    VOICE_CALL = "voice_call"
    CAMPAIGN = "campaign"
    CALL_CENTER = "call_center"
    EXECUTIVE = "executive"


class Fault(StrEnum):
    """The reason why a line or a record was refused."""

    MALFORMED = "MALFORMED"
    NOT_UTF8 = "NOT_UTF8"
    TOO_LONG = "TOO_LONG"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    UNKNOWN_ROLE = "UNKNOWN_ROLE"
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
    """An unreadable or refused record, and the reason in a sentence; a recording has line 0."""

    line: int
    code: Fault
    message: str
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """The options of a reader.

    Args:
        roles: maps speakers' names and words of the source to roles of the API.
        channel: with `chat`, a transcript becomes a conversation instead of a call.
        external_id: the caller's key of a file that is one record and has no key of its own.
        columns: maps columns of CSV to fields, by their names.
        timezone: IANA name of the time zone of times without an offset.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    channel: str | None = None
    external_id: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None


Entries: TypeAlias = Iterator[NativeRecord | BadLine]
Reader: TypeAlias = Callable[[BinaryIO, ReaderOptions], Entries]


class Unreadable(Exception):
    """A record cannot be read; its reader turns this into a `BadLine`."""

    def __init__(self, code: Fault, message: str, line: int = 0) -> None:
        self.code, self.message, self.line = code, message, line
        super().__init__(message)
