"""Timing of a spoken conversation: gaps, holds, overlaps and interruptions.

A turn may span pauses ("Mhm." and four seconds of nothing), so its speech is that of its words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeAlias

from app.judge.dialogue.cues import Cues
from app.judge.dialogue.turns import Dialogue, Line, Side
from app.judge.languages.lexicon import PLAIN, lexicon_of
from app.judge.languages.words import LETTER
from app.judge.scorecard.values import MetricSettings

_Interval: TypeAlias = tuple[int, int]
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_WORD_WITH_MARKS = re.compile(rf"(?:{LETTER})++(?:'(?:{LETTER})++)?")
# Words with a smaller gap between them are one stretch of speech.
_JOINED_MS = 700
_OPPOSITE = {Side.SERVICE: Side.CUSTOMER, Side.CUSTOMER: Side.SERVICE}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Speech of a line without a long pause; times in ms from the start of the recording."""

    line: Line
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A silence between speech, after `before`; `announced` is None where that can't be told."""

    start: int
    end: int
    before: Line
    announced: bool | None

    @property
    def length(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Interruption:
    """`text` of `line` starts while `over` is spoken; `start` to `end` is their overlap."""

    line: Line
    over: Line
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Everything in order of time; `spoken` is empty where the transcript has no times.

    `of_words` says that every line has the times of its words; else turns count as speech whole.
    `barge_ins` are all starts over the other side's speech, of which `interruptions` are those
    that are long enough and more than a back-channel.
    """

    duration: int
    of_words: bool
    spoken: tuple[Stretch, ...]
    speech: tuple[_Interval, ...]
    gaps: tuple[Gap, ...]
    overlaps: tuple[_Interval, ...]
    barge_ins: tuple[Interruption, ...]
    interruptions: tuple[Interruption, ...]

    def of(self, side: Side) -> list[_Interval]:
        return _speech_of(self.spoken, side)

    def holds(self, settings: MetricSettings) -> list[Gap]:
        """List the silences that were announced and are longer than a pause."""
        return [gap for gap in self.gaps if gap.announced and gap.length > settings.non_talk_gap_ms]

    def long_silences(self, settings: MetricSettings) -> list[Gap]:
        """List the silences that would be dead air unless they were announced."""
        return [gap for gap in self.gaps if gap.length >= settings.dead_air_ms]


def timing_of(dialogue: Dialogue, cues: Cues, settings: MetricSettings) -> Timing:
    """Lay a conversation out in time; a chat has no times in this sense."""
    spoken = _spoken(dialogue)
    speech = tuple(union(span for _, span in _spans(spoken)))
    last = max((item.end for item in spoken), default=0)
    barge_ins = _barge_ins(spoken)
    return Timing(
        duration=max(dialogue.transcript.duration_ms or 0, last),
        of_words=all(line.segment.words for line in dialogue.lines),
        spoken=spoken,
        speech=speech,
        gaps=_gaps(dialogue, spoken, speech, cues, settings),
        overlaps=tuple(
            intersection(_speech_of(spoken, Side.SERVICE), _speech_of(spoken, Side.CUSTOMER))
        ),
        barge_ins=barge_ins,
        interruptions=tuple(item for item in barge_ins if _interrupts(item, settings)),
    )


def _spoken(dialogue: Dialogue) -> tuple[Stretch, ...]:
    if dialogue.channel == "chat":
        return ()
    spoken: list[Stretch] = []
    for line in dialogue.lines:
        start, end = line.segment.start_ms, line.segment.end_ms
        if start is None or end is None or end < start:
            return ()
        spoken += _stretches(line) or [Stretch(line, start, end, line.text)]
    return tuple(sorted(spoken, key=lambda item: (item.start, item.end)))


def _stretches(line: Line) -> list[Stretch]:
    """Join the words of a line; none where it has no times of words."""
    stretches: list[Stretch] = []
    for word in sorted(line.segment.words, key=lambda word: (word.start_ms, word.end_ms)):
        last = stretches[-1] if stretches else None
        if last is not None and word.start_ms - last.end <= _JOINED_MS:
            end, text = max(last.end, word.end_ms), f"{last.text} {word.text}"
            stretches[-1] = Stretch(line, last.start, end, text)
        else:
            stretches.append(Stretch(line, word.start_ms, word.end_ms, word.text))
    return stretches


def _gaps(
    dialogue: Dialogue,
    spoken: Sequence[Stretch],
    speech: Sequence[_Interval],
    cues: Cues,
    settings: MetricSettings,
) -> tuple[Gap, ...]:
    by_end = sorted(spoken, key=lambda item: (item.end, item.start))
    ends = [item.end for item in by_end]
    announcing = cues.positions("hold")
    silences = []
    for start, end in gaps_between(speech):
        last = bisect_right(ends, start)
        lines = dict.fromkeys(item.line.position for item in reversed(by_end[:last]))
        before = islice(lines, settings.hold_lookback_segments)
        announced = any(position in announcing for position in before)
        silences.append(
            Gap(start, end, by_end[last - 1].line, announced if dialogue.readable else None)
        )
    return tuple(silences)


def _barge_ins(spoken: Sequence[Stretch]) -> tuple[Interruption, ...]:
    # Only the line of each side that ends last can overlap the next one.
    longest: dict[Side, Stretch] = {}
    barge_ins = []
    for item in spoken:
        other = longest.get(_OPPOSITE.get(item.line.side, Side.OTHER))
        if other is not None and other.start < item.start < other.end:
            barge_ins.append(
                Interruption(item.line, other.line, item.start, min(item.end, other.end), item.text)
            )
        if item.line.side in _OPPOSITE:
            longest_so_far = longest.get(item.line.side)
            if longest_so_far is None or item.end > longest_so_far.end:
                longest[item.line.side] = item
    return tuple(barge_ins)


def _interrupts(item: Interruption, settings: MetricSettings) -> bool:
    if item.end - item.start < settings.interruption_overlap_ms:
        return False
    long_enough = len(words_of(item.text)) >= settings.interruption_words
    return long_enough and not is_back_channel(item.text, item.line.language, settings)


def _speech_of(spoken: Sequence[Stretch], side: Side) -> list[_Interval]:
    return union(span for speaker, span in _spans(spoken) if speaker is side)


def _spans(spoken: Sequence[Stretch]) -> Iterator[tuple[Side, _Interval]]:
    """Yield when each side speaks; a short pause between two of its turns is none."""
    for item in spoken:
        yield item.line.side, (item.start, item.end)
    for item, following in pairwise(spoken):
        if item.line.side is following.line.side and following.start - item.end <= _JOINED_MS:
            yield item.line.side, (item.end, following.start)


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words without punctuation."""
    return (_WORD if text.isascii() else _WORD_WITH_MARKS).findall(text.lower())


def is_back_channel(text: str, language: str, settings: MetricSettings) -> bool:
    """Tell whether a text says no more than that its speaker listens, or nothing at all."""
    lexicon = lexicon_of(language)
    known = lexicon.back_channels if lexicon is not None else frozenset[str]()
    return all(
        word in settings.back_channels or word.translate(PLAIN) in known for word in words_of(text)
    )


def union(intervals: Iterable[_Interval]) -> list[_Interval]:
    """Merge intervals that touch or overlap; sorted, without the empty ones."""
    merged: list[_Interval] = []
    for start, end in sorted(pair for pair in intervals if pair[1] > pair[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def total_length(disjoint: Iterable[_Interval]) -> int:
    """Sum the lengths of intervals that don't overlap."""
    return sum(end - start for start, end in disjoint)


def intersection(left: Sequence[_Interval], right: Sequence[_Interval]) -> list[_Interval]:
    """Intersect two unions; what only touches is left out."""
    common: list[_Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            common.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common


def gaps_between(disjoint: Sequence[_Interval]) -> list[_Interval]:
    """List the gaps between the intervals of a union: what comes before and after is no gap."""
    return [(before[1], after[0]) for before, after in pairwise(disjoint)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Interpolate linearly between the two nearest ranks; ValueError without values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    if below + 1 >= len(ordered):
        return float(ordered[-1])
    return ordered[below] + (ordered[below + 1] - ordered[below]) * (rank - below)
