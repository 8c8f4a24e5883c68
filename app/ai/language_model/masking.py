"""Masked texts for the model, and the positions of their quotes in the original texts."""

from dataclasses import dataclass

from app.ai.redaction.masking import mask_turns
from app.ai.redaction.transcripts import turns_of
from app.ai.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Masked:
    """One masked stretch of a text and its placeholder; offsets are those of the original."""

    start: int
    end: int
    word: str


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with masked stretches; `masked` is in order and does not overlap."""

    original: str
    masked: tuple[Masked, ...] = ()

    @property
    def text(self) -> str:
        """The text with its masks."""
        pieces, at = [], 0
        for stretch in self.masked:
            pieces += [self.original[at : stretch.start], stretch.word]
            at = stretch.end
        return "".join([*pieces, self.original[at:]])

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of `text[start:end]` in the original; a mask that it touches counts whole."""
        return self._original_at(start, is_end=False), self._original_at(end, is_end=True)

    def _original_at(self, offset: int, *, is_end: bool) -> int:
        shift = 0
        for stretch in self.masked:
            begins = stretch.start + shift
            ends = begins + len(stretch.word)
            if offset < begins or (is_end and offset == begins):
                break
            if offset < ends or (is_end and offset == ends):
                return stretch.end if is_end else stretch.start
            shift += len(stretch.word) - (stretch.end - stretch.start)
        return offset - shift


def masked_texts(transcript: Transcript, *, mask: bool) -> dict[str, MaskedText]:
    """Map the ids of segments to their texts, masked unless they are masked already or `mask` is off."""
    if not mask or transcript.redacted:
        return {segment.id: MaskedText(segment.text) for segment in transcript.segments}
    turns = turns_of(transcript)
    return {
        segment.id: MaskedText(
            segment.text,
            tuple(
                Masked(original.start, original.end, original.entity.placeholder)
                for original in done.originals
            ),
        )
        for segment, done in zip(transcript.segments, mask_turns(turns), strict=True)
    }
