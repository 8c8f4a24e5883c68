"""Items of an import file: records in the native form, and unreadable lines."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, TypeAlias

MOST_MESSAGES = 10_000


class Kind(StrEnum):
    """What a record is."""

    CONVERSATION = "conversation"
    VOICE_CALL = "voice_call"
    CAMPAIGN = "campaign"
    CALL_CENTER = "call_center"
    EXECUTIVE = "executive"


class Fault(StrEnum):
    """Why a line or a record was not taken."""

    MALFORMED = "MALFORMED"
    NOT_UTF8 = "NOT_UTF8"
    TOO_LONG = "TOO_LONG"
    UNKNOWN_FORMAT = "UNKNOWN_FORMAT"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    UNKNOWN_ROLE = "UNKNOWN_ROLE"
    NO_MESSAGES = "NO_MESSAGES"
    DUPLICATE = "DUPLICATE"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    CONFLICT = "CONFLICT"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True)
class Item:
    """A record in the native form, unchecked; `line` is where it begins, from 1."""

    line: int
    kind: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BadLine:
    """What could not be read, and why, in a sentence for people."""

    line: int
    code: Fault
    message: str
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader is told beside the bytes.

    Args:
        roles: names of speakers and foreign words, each with one of our roles.
        channel: `chat` makes a conversation of what would be a call.
        external_id: the caller's key where the file is one record and has none of its own.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    channel: str | None = None
    external_id: str | None = None


Read: TypeAlias = Iterator[Item | BadLine]
Reader: TypeAlias = Callable[[BinaryIO, Reading], Read]


class Unreadable(Exception):
    """One record cannot be read; the reader turns this into its `BadLine`."""

    def __init__(self, code: Fault, message: str, line: int = 0) -> None:
        self.code, self.message, self.line = code, message, line
        super().__init__(message)
