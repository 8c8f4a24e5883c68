"""Redactor: masks personal data in texts before anything else uses them; encrypts the originals.

Only `raw_texts.find_originals` returns originals; the rest of the service sees masked texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import orjson

from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring
from app.redaction.conversation_text import SpeakerTurn
from app.redaction.entities import Entity
from app.redaction.masking import SERVICE_ROLES, mask, mask_transcript, mask_turns
from app.transcript import Redaction, Transcript

ENTITY_TYPES = tuple(entity.value for entity in Entity)


@dataclass(frozen=True, slots=True)
class SealedOriginals:
    """Encrypted originals to be stored; the encryption is bound to the id of their row."""

    id: str
    token: str
    key_id: str


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks texts if redaction is enabled; the keyring encrypts the originals."""

    enabled: bool
    keyring: Keyring

    @classmethod
    def of(cls, runtime: Runtime) -> Self:
        return cls(runtime.settings.redaction, runtime.keyring)

    def masked_text(self, text: str | None) -> str | None:
        """Mask a text whose original is not stored, such as a subject."""
        return mask(text).text if text and self.enabled else text

    def masked_messages(
        self, messages: Sequence[Mapping[str, Any]], speaker: str
    ) -> tuple[list[dict[str, Any]], dict[str, str]]:
        """Mask the `text` of each message and add its `redactions`; `speaker` is a field of it.

        Return also the originals of the messages that changed, by index from "0".
        """
        if not self.enabled:
            return [{**message, "redactions": []} for message in messages], {}
        masked = mask_turns([_turn(message, speaker) for message in messages])
        masked_messages = [
            {**message, "text": turn.text, "redactions": documents_of(turn.redactions)}
            for message, turn in zip(messages, masked, strict=True)
        ]
        originals = {
            str(index): messages[index]["text"]
            for index, turn in enumerate(masked)
            if turn.redactions
        }
        return masked_messages, originals

    def masked_transcript(
        self, transcript: Transcript
    ) -> tuple[Transcript, SealedOriginals | None]:
        """Mask a transcript, and encrypt the originals of the segments that changed."""
        masked, originals = mask_transcript(transcript)
        segments = {
            segment_id: {"text": original.text, "words": [word.text for word in original.words]}
            for segment_id, original in originals.items()
        }
        return masked, self.seal(segments=segments) if segments else None

    def seal(
        self,
        *,
        messages: Mapping[str, str] | None = None,
        segments: Mapping[str, Any] | None = None,
    ) -> SealedOriginals:
        """Encrypt originals of messages by index and of segments by id."""
        raw_text_id = new_id("raw")
        content = orjson.dumps({"messages": messages or {}, "segments": segments or {}})
        token = self.keyring.encrypt(content, purpose=purpose_of(raw_text_id))
        return SealedOriginals(raw_text_id, token, self.keyring.current_id)


def _turn(message: Mapping[str, Any], speaker: str) -> SpeakerTurn:
    return SpeakerTurn(
        message[speaker],
        message["text"],
        is_service=message["role"] in SERVICE_ROLES,
        name=message.get("author_name"),
    )


def documents_of(redactions: Sequence[Redaction]) -> list[dict[str, Any]]:
    return [
        {
            "entityType": redaction.entity_type,
            "charStart": redaction.char_start,
            "charEnd": redaction.char_end,
        }
        for redaction in redactions
    ]


def redactions_from(documents: Sequence[Mapping[str, Any]]) -> tuple[Redaction, ...]:
    """Read redactions from the form of the API."""
    return tuple(
        Redaction(document["entityType"], document["charStart"], document["charEnd"])
        for document in documents
    )


def purpose_of(raw_text_id: str) -> str:
    return f"raw_text:{raw_text_id}"
