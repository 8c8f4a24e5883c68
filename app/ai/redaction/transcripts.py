"""Masking of transcripts: the texts of segments, their words, and what stood there before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from app.ai.redaction.entities import Found
from app.ai.redaction.masking import Masked, mask_turns
from app.ai.redaction.talk import Turn
from app.ai.transcript import Role, Segment, Transcript, Word

_SERVICE = frozenset({Role.AGENT, Role.SUPERVISOR, Role.BOT})


class Original(NamedTuple):
    """What a segment said before it was masked: its text, and its words one by one."""

    text: str
    words: tuple[str, ...]


def mask_transcript(transcript: Transcript) -> tuple[Transcript, dict[str, Original]]:
    """Mask every segment; return also what the changed ones said, by the segment's id.

    A transcript that is masked already stays as it is.
    """
    if transcript.redacted:
        return transcript, {}
    segments = transcript.segments
    masked = mask_turns(turns_of(transcript))
    originals = {
        segment.id: Original(segment.text, tuple(word.text for word in segment.words))
        for segment, each in zip(segments, masked, strict=True)
        if each.redactions
    }
    done = tuple(_segment(*each) for each in zip(segments, masked, strict=True))
    return replace(transcript, segments=done, redacted=True), originals


def turns_of(transcript: Transcript) -> list[Turn]:
    """Return the segments as turns that can be masked."""
    names = {person.id: person.display_name for person in transcript.participants}
    return [
        Turn(
            segment.participant_id,
            segment.text,
            is_service=segment.role in _SERVICE,
            name=names.get(segment.participant_id),
        )
        for segment in transcript.segments
    ]


def _segment(segment: Segment, masked: Masked) -> Segment:
    if not masked.redactions:
        return segment
    return replace(
        segment,
        text=masked.text,
        words=_words(segment, masked.originals),
        redactions=masked.redactions,
    )


def _words(segment: Segment, hidden: Sequence[Found]) -> tuple[Word, ...]:
    """Mask the words that an entity touches; the times stay."""
    words = []
    place = 0
    for word in segment.words:
        found = segment.text.find(word.text, place)
        start = place if found < 0 else found
        end = place = start + len(word.text)
        entity = next((each for each in hidden if each.start < end and start < each.end), None)
        words.append(replace(word, text=entity.entity.placeholder) if entity else word)
    return tuple(words)
