"""Evidence: a sentence of a segment's text, quoted character for character."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from app.core.json_documents import with_api_names
from app.transcript import Segment

MOST_WORDS = 30
_LEAST_WORDS = 4
_BEFORE = 10
# Most lines of a conversation are quoted for several criteria.
_TEXTS_REMEMBERED = 512
# A dot within a number or an address, or behind an abbreviation, ends nothing.
_ABBREVIATED = r"(?i:(?<=\bdr|\bmr|\bms|\bvs)|(?<=\bmrs|\be\.g|\bi\.e)|(?<=\bprof))\.(?=\s+\w)"
_SENTENCE = re.compile(
    rf"(?:[^.!?\u0964\u3002\uff01\uff1f\n]++|\.(?=\w)|{_ABBREVIATED}|(?<=\b[ap]\.m)\.(?=\s+[a-z])"
    r"|(?<=\b[Nn]o)\.(?=\s?\d))+[.!?\u0964\u3002\uff01\uff1f]*"
)
# Scripts without spaces have no words to count; 24 signs count as one.
WORD = re.compile(r"\S{1,24}")
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
        return with_api_names(self)


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


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """List where the sentences of a text begin and end, without the white space around them."""
    spans = []
    for match in _SENTENCE.finditer(text):
        sentence = match[0].lstrip()
        if sentence:
            start = match.end() - len(sentence)
            spans.append((start, start + len(sentence.rstrip())))
    return tuple(spans)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def quotable_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a stretch to its whole sentence, and a very short one to the sentences next to it.

    More than 30 words are cut to 30 around the stretch.
    """
    sentences = sentence_spans(text)
    covered = [index for index, span in enumerate(sentences) if span[0] < end and start < span[1]]
    if not covered:
        return _within_words(text, (start, end), start)
    first, last = covered[0], covered[-1]
    while _words(text, sentences[first][0], sentences[last][1]) < _LEAST_WORDS:
        if last + 1 < len(sentences):
            last += 1
        elif first > 0:
            first -= 1
        else:
            break
    return _within_words(text, (sentences[first][0], sentences[last][1]), start)


def whole_sentences(text: str, spans: Sequence[tuple[int, int]], position: int) -> tuple[int, int]:
    """Join sentences that follow each other: all that stay within 30 words, or else those around a position."""
    if not spans:
        return 0, 0
    first, last = spans[0][0], spans[-1][1]
    if _words(text, first, last) <= MOST_WORDS:
        return first, last
    index = next((place for place, span in enumerate(spans) if position < span[1]), 0)
    first, last = spans[index]
    for begin, _ in reversed(spans[:index]):
        if _words(text, begin, last) > MOST_WORDS:
            break
        first = begin
    for _, end in spans[index + 1 :]:
        if _words(text, first, end) > MOST_WORDS:
            break
        last = end
    return _within_words(text, (first, last), first)


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def opening_span(text: str) -> tuple[int, int]:
    """Return the first sentences of a text, as many as stay within 30 words, or its first 30 words."""
    sentences = sentence_spans(text) or ((0, len(text)),)
    start, end = sentences[0]
    for _, sentence_end in sentences[1:]:
        if _words(text, start, sentence_end) > MOST_WORDS:
            break
        end = sentence_end
    return _within_words(text, (start, end), start)


def _words(text: str, start: int, end: int) -> int:
    return len(WORD.findall(text, start, end))


def _within_words(text: str, span: tuple[int, int], position: int) -> tuple[int, int]:
    if _words(text, *span) <= MOST_WORDS:
        return span
    words = [match.span() for match in WORD.finditer(text, *span)]
    at = next((index for index, (_, end) in enumerate(words) if end > position), 0)
    first = max(0, min(at - _BEFORE, len(words) - MOST_WORDS))
    return words[first][0], words[first + MOST_WORDS - 1][1]
