"""How one kind of event is said in a conversation: the shape of the lexicon's entries."""

from dataclasses import dataclass
from enum import StrEnum


class Speaker(StrEnum):
    SERVICE = "agent"
    CUSTOMER = "customer"
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class Entry:
    """How one kind of event is said: by whom, at which trigger words, in which patterns.

    `cased` patterns are matched against the text as written, since a name is known by its capital.
    `unless` drops a match when it fits the words of the same sentence up to the match's end.
    """

    speaker: Speaker
    triggers: str
    patterns: tuple[str, ...]
    cased: bool = False
    unless: str | None = None
