"""Evidence: a stretch of a segment's text, quoted character for character."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.ai.dialogue.sentences import opening_span, quotable_span
from app.ai.transcript import Segment

SUPPORTS = "supports"
CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class Evidence:
    """`quote` is `segment.text[char_start:char_end]`; offsets count code points.

    `polarity` says whether it speaks for the criterion (supports) or against it (contradicts).
    Times and role are those of the segment; the times are None where it has none.
    """

    segment_id: str
    start_ms: int | None
    end_ms: int | None
    char_start: int
    char_end: int
    quote: str
    polarity: str
    role: str

    def as_json(self) -> dict[str, Any]:
        return {
            "segmentId": self.segment_id,
            "startMs": self.start_ms,
            "endMs": self.end_ms,
            "charStart": self.char_start,
            "charEnd": self.char_end,
            "quote": self.quote,
            "polarity": self.polarity,
            "role": self.role,
        }


def evidence_at(segment: Segment, start: int, end: int, polarity: str = SUPPORTS) -> Evidence:
    """Quote `segment.text[start:end]` without the white space around it.

    ValueError where nothing would be quoted.
    """
    quoted = segment.text[start:end]
    start += len(quoted) - len(quoted.lstrip())
    quote = quoted.strip()
    if not quote or start < 0:
        raise ValueError(f"nothing to quote at {start}:{end} of {segment.id}")
    return Evidence(
        segment_id=segment.id,
        start_ms=segment.start_ms,
        end_ms=segment.end_ms,
        char_start=start,
        char_end=start + len(quote),
        quote=quote,
        polarity=polarity,
        role=segment.role.value,
    )


def sentence_around(segment: Segment, start: int, end: int, polarity: str = SUPPORTS) -> Evidence:
    """Quote the sentence of `segment.text[start:end]`, at most 30 words of it."""
    return evidence_at(segment, *quotable_span(segment.text, start, end), polarity)


def beginning(segment: Segment, polarity: str = SUPPORTS) -> Evidence:
    """Quote the beginning of a segment, at most 30 words."""
    return evidence_at(segment, *opening_span(segment.text), polarity)


def verified(
    evidence: Iterable[Evidence], segments: Mapping[str, Segment]
) -> tuple[tuple[Evidence, ...], int]:
    """Keep the evidence that occurs in the transcript; return it and the count of dropped pieces.

    The one place that decides it, for every judge: the segment exists, its times are as said, and
    the quote is exactly its text between the offsets.
    """
    claimed = tuple(evidence)
    valid = tuple(item for item in claimed if _is_verbatim(item, segments.get(item.segment_id)))
    return valid, len(claimed) - len(valid)


def _is_verbatim(item: Evidence, segment: Segment | None) -> bool:
    return (
        segment is not None
        and 0 <= item.char_start < item.char_end <= len(segment.text)
        and segment.text[item.char_start : item.char_end] == item.quote
        and (item.start_ms, item.end_ms) == (segment.start_ms, segment.end_ms)
        and item.role == segment.role.value
        and item.polarity in (SUPPORTS, CONTRADICTS)
    )
