"""The guard at every way in: masks texts before anything else is done with them, and seals them.

Whoever is asked for raw texts answers with what `raw_texts.opened` returns; all else in the service
knows masked texts alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.ai.redaction.entities import Entity
from app.ai.redaction.masking import mask, mask_turns
from app.ai.redaction.talk import Turn
from app.ai.redaction.transcripts import mask_transcript
from app.ai.transcript import Redaction, Transcript
from app.core.ids import new_id
from app.core.secrets.encryption import Keyring

_SERVICE = frozenset({"agent", "supervisor", "bot"})
ENTITY_TYPES = tuple(each.value for each in Entity)


@dataclass(frozen=True, slots=True)
class Sealed:
    """Raw texts that wait to be stored; bound to the id of their row."""

    id: str
    token: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Guard:
    """Whether texts are masked unless something else is asked, and the keys that seal them."""

    enabled: bool
    keyring: Keyring


_installed: list[Guard] = []


def install(guard: Guard) -> None:
    """Make this the process's guard; the factory calls it."""
    _installed[:] = [guard]


def is_enabled() -> bool:
    """Whether texts are masked unless something else is asked."""
    return _guard().enabled


def keyring() -> Keyring:
    """Return the keys that open raw texts."""
    return _guard().keyring


def masked_text(text: str | None) -> str | None:
    """Mask a text whose original is not kept, such as a subject."""
    return mask(text).text if text and is_enabled() else text


def masked_messages(
    messages: Sequence[Mapping[str, Any]], speaker: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Mask the `text` of each and add `redactions`; return also what it was, by place from "0".

    Args:
        speaker: the key under which each names who speaks.
    """
    if not is_enabled():
        return [{**each, "redactions": []} for each in messages], {}
    masked = mask_turns(
        [
            Turn(
                message[speaker],
                message["text"],
                is_service=message["role"] in _SERVICE,
                name=message.get("author_name"),
            )
            for message in messages
        ]
    )
    done = [
        {**each, "text": found.text, "redactions": documents_of(found.redactions)}
        for each, found in zip(messages, masked, strict=True)
    ]
    originals = {
        str(place): messages[place]["text"] for place, each in enumerate(masked) if each.redactions
    }
    return done, originals


def masked_transcript(transcript: Transcript) -> tuple[Transcript, Sealed | None]:
    """Mask a transcript, and seal what its segments said."""
    masked, originals = mask_transcript(transcript)
    segments = {name: {"text": each.text, "words": each.words} for name, each in originals.items()}
    return masked, seal(segments=segments) if segments else None


def seal(
    *, messages: Mapping[str, str] | None = None, segments: Mapping[str, Any] | None = None
) -> Sealed:
    """Seal raw texts, those of messages by their index and those of segments by their id."""
    raw_text_id = new_id("raw")
    content = orjson.dumps({"messages": messages or {}, "segments": segments or {}})
    ring = keyring()
    return Sealed(raw_text_id, sealed_for(ring, raw_text_id, content), ring.current_id)


def sealed_for(ring: Keyring, raw_text_id: str, content: bytes) -> str:
    """Encrypt the content of a row."""
    return ring.encrypt(content, purpose=purpose_of(raw_text_id))


def purpose_of(raw_text_id: str) -> str:
    """Name what a row's content is sealed for."""
    return f"raw_text:{raw_text_id}"


def documents_of(redactions: Sequence[Redaction]) -> list[dict[str, Any]]:
    """Shape redactions as the API shows them (contract B5)."""
    return [
        {"entityType": each.entity_type, "charStart": each.char_start, "charEnd": each.char_end}
        for each in redactions
    ]


def redactions_from(documents: Sequence[Mapping[str, Any]]) -> tuple[Redaction, ...]:
    """Read redactions as they were shaped."""
    return tuple(
        Redaction(each["entityType"], each["charStart"], each["charEnd"]) for each in documents
    )


def _guard() -> Guard:
    if not _installed:
        raise RuntimeError("no guard: the factory installs it")
    return _installed[0]
