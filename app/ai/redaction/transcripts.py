"""Masking of transcripts: texts and words of segments, and their originals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from app.ai.redaction.conversation_text import SpeakerTurn
from app.ai.redaction.entities import EntitySpan
from app.ai.redaction.masking import MaskedTurn, mask_turns
from app.ai.transcript import Role, Segment, Transcript, Word

_SERVICE = frozenset({Role.AGENT, Role.SUPERVISOR, Role.BOT})


class Original(NamedTuple):
    """The text and the words of a segment before masking."""

    text: str
    words: tuple[str, ...]


def mask_transcript(transcript: Transcript) -> tuple[Transcript, dict[str, Original]]:
    """Mask every segment; return also the originals of the changed ones, by the segment's id.

    A masked transcript is returned unchanged.
    """
    if transcript.redacted:
        return transcript, {}
    segments = transcript.segments
    masked = mask_turns(turns_of(transcript))
    originals = {
        segment.id: Original(segment.text, tuple(word.text for word in segment.words))
        for segment, turn in zip(segments, masked, strict=True)
        if turn.redactions
    }
    masked_segments = tuple(map(_masked_segment, segments, masked))
    return replace(transcript, segments=masked_segments, redacted=True), originals


def turns_of(transcript: Transcript) -> list[SpeakerTurn]:
    """Return the segments as turns for masking."""
    names = {participant.id: participant.display_name for participant in transcript.participants}
    return [
        SpeakerTurn(
            segment.participant_id,
            segment.text,
            is_service=segment.role in _SERVICE,
            name=names.get(segment.participant_id),
        )
        for segment in transcript.segments
    ]


def _masked_segment(segment: Segment, masked: MaskedTurn) -> Segment:
    if not masked.redactions:
        return segment
    return replace(
        segment,
        text=masked.text,
        words=_masked_words(segment, masked.originals),
        redactions=masked.redactions,
    )


def _masked_words(segment: Segment, spans: Sequence[EntitySpan]) -> tuple[Word, ...]:
    """Replace the words that an entity overlaps; their times stay."""
    words = []
    position = 0
    for word in segment.words:
        start = max(position, segment.text.find(word.text, position))
        end = position = start + len(word.text)
        span = next((span for span in spans if span.start < end and start < span.end), None)
        words.append(replace(word, text=span.entity.placeholder) if span else word)
    return tuple(words)
