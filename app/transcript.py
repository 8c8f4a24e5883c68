"""Transcript of a conversation: words, times and speakers."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    AGENT = "agent"
    CUSTOMER = "customer"
    BOT = "bot"
    SUPERVISOR = "supervisor"
    SYSTEM = "system"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Word:
    """A spoken word; times in ms from the start of the recording.

    `confidence` is 0 to 1, or None where the model gives none.
    """

    text: str
    start_ms: int
    end_ms: int
    confidence: float | None


class Redaction(NamedTuple):
    """Placeholder at `[char_start, char_end)` of a masked text, in code points, and its entity."""

    entity_type: str
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True)
class Participant:
    """Participant of a conversation; `kind` is human, bot or ivr."""

    id: str
    role: Role
    kind: str = "human"
    display_name: str | None = None
    channel_index: int | None = None
    executive_id: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of speech or one message; ids are stable: `seg_0001`, `seg_0002` and so on.

    `start_ms` and `end_ms` are None where the source has no times. `sent_at` is set for messages.
    """

    id: str
    index: int
    participant_id: str
    role: Role
    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    language: str | None = None
    confidence: float | None = None
    channel_index: int | None = None
    message_id: str | None = None
    sent_at: datetime | None = None
    words: tuple[Word, ...] = ()
    redactions: tuple[Redaction, ...] = ()


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """Findings of decoding a recording; its headers are not trusted for any of it."""

    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation in the order in which its segments start.

    `speaker_attribution` is `channel` (each channel is one speaker), `diarized`, `messages` (the
    source names the speaker) or `none` (one mixed channel: every role is unknown, and nothing may
    be said about the agent or the customer). `language_confidence`, 0 to 1, is set where `language`
    was not declared but told from the words. `warnings` are codes such as `no_speech`. `audio` and
    `speech_ms`, the length of all detected speech, are None where there was no recording.
    """

    segments: tuple[Segment, ...]
    participants: tuple[Participant, ...] = ()
    duration_ms: int | None = None
    language: str | None = None
    language_confidence: float | None = None
    confidence: float | None = None
    provider: str = ""
    model: str = ""
    model_digest: str = ""
    speaker_attribution: str = "none"
    warnings: tuple[str, ...] = field(default=())
    audio: AudioInfo | None = None
    speech_ms: int | None = None
    redacted: bool = False

    @property
    def word_count(self) -> int:
        """Count the words of all segments, split at white space."""
        return sum(len(segment.text.split()) for segment in self.segments)
