"""Joined speech: the speech of one channel in few files, and what a server answers to them.

The times of the answers lead back to the recording, where each region of speech is a turn of its own.

Silence is not sent: many models invent words in it.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import orjson

from app.speech.decoder import Sound
from app.speech.decoding.sound import SAMPLE_BYTES, SAMPLE_RATE_HZ
from app.speech.errors import ProviderUnavailable
from app.speech.recogniser import Utterance, is_speech
from app.speech.server_access import wav_of
from app.speech.speech_regions import Region, Speech
from app.transcript import Word

# 19 MB as WAV; hosted servers take 25 MB.
_MOST_SAMPLES = 600 * SAMPLE_RATE_HZ
# Two turns that touch would be read as one sentence.
_PAUSE_SAMPLES = SAMPLE_RATE_HZ // 2
_PAUSE = bytes(_PAUSE_SAMPLES * SAMPLE_BYTES)
_FULL_SCALE = 32767
_MOST_SPEAKER_LETTERS = 50


@dataclass(slots=True)
class JoinedSpeech:
    """Regions of one channel, one after the other with short pauses.

    `starts` are the samples of the joined sound at which the regions begin.
    """

    channel: int
    regions: list[Region] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    samples: list[bytes] = field(default_factory=list)

    def add(self, region: Region, sound: Sound) -> None:
        """Append a region and the pause after it."""
        self.starts.append(self.length)
        self.regions.append(region)
        self.samples += [(sound * _FULL_SCALE).astype("<i2").tobytes(), _PAUSE]

    @property
    def length(self) -> int:
        """Number of samples, pauses included."""
        return self.starts[-1] + self.regions[-1].length + _PAUSE_SAMPLES if self.starts else 0

    def wav(self) -> bytes:
        """Return the sound as a WAV file."""
        return wav_of(b"".join(self.samples))

    def region_at(self, seconds: float) -> int:
        """Return the index of the region at this time; a pause belongs to the region before it."""
        return max(0, bisect_right(self.starts, seconds * SAMPLE_RATE_HZ) - 1)

    def start_ms(self, seconds: float) -> int:
        """Return when something that starts here starts in the recording: after any pause."""
        index = self.region_at(seconds)
        inside = seconds * SAMPLE_RATE_HZ - self.starts[index]
        if inside >= self.regions[index].length and index + 1 < len(self.regions):
            index, inside = index + 1, 0
        return self._clock_ms(index, inside)

    def end_ms(self, seconds: float) -> int:
        """Return when something that ends here ends in the recording: before any pause."""
        index = max(0, bisect_left(self.starts, seconds * SAMPLE_RATE_HZ) - 1)
        return self.clock_ms(seconds, index)

    def clock_ms(self, seconds: float, index: int) -> int:
        """Return the time in the recording, within the region of this index."""
        return self._clock_ms(index, seconds * SAMPLE_RATE_HZ - self.starts[index])

    def _clock_ms(self, index: int, inside: float) -> int:
        region = self.regions[index]
        sample = region.start + min(max(0, inside), region.length)
        return round(sample * 1000 / SAMPLE_RATE_HZ)


def joined(speech: Speech) -> Iterator[JoinedSpeech]:
    """Yield the speech of each channel, in parts of at most ten minutes."""
    for channel in speech.regions:
        part = JoinedSpeech(channel)
        for region, sound in speech.amplified(channel):
            if part.regions and part.length + region.length > _MOST_SAMPLES:
                yield part
                part = JoinedSpeech(channel)
            part.add(region, sound)
        if part.regions:
            yield part


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
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredTranscription:
    """A transcription. `has_times` is false for a text without segments and words."""

    language: str | None
    segments: list[AnsweredSegment]
    has_times: bool


def read_answer(body: bytes) -> AnsweredTranscription:
    """Read the answer of a server; raise `ProviderUnavailable` if it cannot be read."""
    try:
        document = orjson.loads(body)
        text = _text(document["text"])
        segment_rows = _rows(document.get("segments"))
        words = [_word(row) for row in _rows(document.get("words"))]
        segments = [_segment(row) for row in segment_rows if _is_speech(row)]
        language = document.get("language")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = "The transcription server's answer is not a transcription."
        raise ProviderUnavailable(message) from error
    if not segment_rows and words:
        segments = [AnsweredSegment(text, words[0].start, words[-1].end, None, words)]
    elif words and not any(segment.words for segment in segments):
        _share_out(words, segments)
    return AnsweredTranscription(
        language=_language_code(language),
        segments=[segment for segment in segments if segment.text],
        has_times=bool(segment_rows or words) or not text,
    )


def placed(answer: AnsweredTranscription, sent: JoinedSpeech) -> list[Utterance]:
    """Return the utterances of an answer, with the times of the recording.

    A segment with words that runs over a pause between two regions becomes one utterance for each;
    one without words stays whole.
    """
    return [
        utterance
        for segment in answer.segments
        for utterance in (_of_words(segment, sent) if segment.words else [_whole(segment, sent)])
    ]


def _whole(segment: AnsweredSegment, sent: JoinedSpeech) -> Utterance:
    start_ms = sent.start_ms(segment.start)
    return Utterance(
        channel=sent.channel,
        start_ms=start_ms,
        end_ms=max(start_ms, sent.end_ms(segment.end)),
        text=segment.text,
        confidence=segment.confidence,
        words=(),
        speaker=segment.speaker,
    )


def _of_words(segment: AnsweredSegment, sent: JoinedSpeech) -> list[Utterance]:
    def region_of(word: AnsweredWord) -> int:
        return sent.region_at((word.start + word.end) / 2)

    # Some servers give words without the punctuation of the text.
    texts_with_marks = segment.text.split()
    texts = iter(
        texts_with_marks
        if len(texts_with_marks) == len(segment.words)
        else [word.text for word in segment.words]
    )
    utterances = []
    for index, group in groupby(sorted(segment.words, key=region_of), region_of):
        words = tuple(
            Word(
                text=word.text,
                start_ms=sent.clock_ms(word.start, index),
                end_ms=sent.clock_ms(word.end, index),
                confidence=word.confidence,
            )
            for word in group
        )
        utterances.append(
            Utterance(
                channel=sent.channel,
                start_ms=words[0].start_ms,
                end_ms=words[-1].end_ms,
                text=" ".join(next(texts) for _ in words),
                confidence=segment.confidence,
                words=words,
                speaker=segment.speaker,
            )
        )
    return utterances


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
        speaker=_speaker(row.get("speaker")),
    )


def _speaker(value: Any) -> str | None:
    """Return the name of a voice, which some servers number."""
    return str(value)[:_MOST_SPEAKER_LETTERS] if isinstance(value, str | int) else None


def _word(row: dict[str, Any]) -> AnsweredWord:
    start, end = _span(row)
    probability = row.get("probability")
    confidence = None if probability is None else _share(_number(probability))
    return AnsweredWord(_text(row["word"]), start, end, confidence)


def _is_speech(row: dict[str, Any]) -> bool:
    log_probability = row.get("avg_logprob")
    return is_speech(
        _number(row.get("no_speech_prob") or 0.0),
        _number(row.get("compression_ratio") or 0.0),
        None if log_probability is None else _number(log_probability),
    )


def _rows(value: Any) -> list[dict[str, Any]]:
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError
    return rows


def _span(row: dict[str, Any]) -> tuple[float, float]:
    start, end = _number(row["start"]), _number(row["end"])
    return max(0.0, start), max(0.0, start, end)


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return min(float(value), 1e6)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return " ".join(value.replace("\0", " ").split())


def _language_code(value: Any) -> str | None:
    """Return a language that is given as a code; a name of a language is ignored."""
    is_code = (
        isinstance(value, str) and value.isascii() and value.isalpha() and len(value) in (2, 3)
    )
    return value.lower() if is_code else None
