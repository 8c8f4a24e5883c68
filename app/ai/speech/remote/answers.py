"""Answers of transcription servers: segments and words, as far as the server gives them."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import orjson

from app.ai.speech.recogniser import is_speech


class NotATranscription(ValueError):
    """The answer does not have the form of a transcription."""


@dataclass(frozen=True, slots=True)
class AnsweredWord:
    """A word; times in seconds from the start of the file that was sent."""

    text: str
    start: float
    end: float
    confidence: float | None


@dataclass(frozen=True, slots=True)
class AnsweredSegment:
    """About a sentence; times in seconds from the start of the file that was sent."""

    text: str
    start: float
    end: float
    confidence: float | None
    words: list[AnsweredWord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AnsweredTranscription:
    """A transcription. `has_times` is false for a text without segments and words."""

    language: str | None
    segments: list[AnsweredSegment]
    has_times: bool


def read_answer(body: bytes) -> AnsweredTranscription:
    """Read the answer of a server; raise `NotATranscription` if it is none."""
    try:
        document = orjson.loads(body)
        text = _text(document["text"])
        segment_rows = _rows(document.get("segments"))
        words = [_word(row) for row in _rows(document.get("words"))]
        segments = [_segment(row) for row in segment_rows if _is_speech(row)]
        language = document.get("language")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotATranscription from error
    if not segment_rows and words:
        segments = [AnsweredSegment(text, words[0].start, words[-1].end, None, words)]
    elif words and not any(segment.words for segment in segments):
        _share_out(words, segments)
    return AnsweredTranscription(
        language=_language_code(language),
        segments=[segment for segment in segments if segment.text],
        has_times=bool(segment_rows or words) or not text,
    )


def _share_out(words: list[AnsweredWord], segments: list[AnsweredSegment]) -> None:
    """Give each word to the segment during which it is spoken."""
    starts = [segment.start for segment in segments]
    for word in words:
        index = bisect_right(starts, (word.start + word.end) / 2) - 1
        if index >= 0 and word.start < segments[index].end:
            segments[index].words.append(word)


def _segment(row: dict[str, Any]) -> AnsweredSegment:
    start, end = _span(row)
    log_probability = row.get("avg_logprob")
    if log_probability is not None:
        log_probability = min(0.0, _number(log_probability))
    return AnsweredSegment(
        text=_text(row["text"]),
        start=start,
        end=end,
        confidence=None if log_probability is None else round(math.exp(log_probability), 4),
        words=[_word(word) for word in _rows(row.get("words"))],
    )


def _word(row: dict[str, Any]) -> AnsweredWord:
    start, end = _span(row)
    probability = row.get("probability")
    confidence = None if probability is None else _share(_number(probability))
    return AnsweredWord(_text(row["word"]), start, end, confidence)


def _is_speech(row: dict[str, Any]) -> bool:
    return is_speech(
        _number(row.get("no_speech_prob") or 0.0), _number(row.get("compression_ratio") or 0.0)
    )


def _rows(value: Any) -> list[dict[str, Any]]:
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotATranscription
    return rows


def _span(row: dict[str, Any]) -> tuple[float, float]:
    start, end = _number(row["start"]), _number(row["end"])
    return max(0.0, start), max(0.0, start, end)


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise NotATranscription
    return min(float(value), 1e6)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotATranscription
    return " ".join(value.replace("\0", " ").split())


def _language_code(value: Any) -> str | None:
    """Return a language that is given as a code; a name of a language is ignored."""
    is_code = (
        isinstance(value, str) and value.isascii() and value.isalpha() and len(value) in (2, 3)
    )
    return value.lower() if is_code else None
