"""Sentiment of each side: a score for every line, their course over the quarters, and one overall.

English lines are scored by what they show (see `app.judge.conduct.readings`), lines of other languages
by the words of their lexicon; without one there is no sentiment.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import punctuation
from typing import Any, NamedTuple, Protocol

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from app.core.json_documents import with_api_names
from app.judge.conduct.readings import Readings
from app.judge.dialogue.turns import Dialogue, Line, Side
from app.judge.languages.detection import ENGLISH
from app.judge.languages.lexicon import NUKTA, PLAIN, Feelings, lexicon_of
from app.judge.languages.words import words_in
from app.judge.scorecard.values import MetricSettings

# A negation reaches no further than its clause: "no, many thanks" denies nothing.
_CLAUSE_END = re.compile("[,;.!?\u0964\n]")
# The number of words before and after a feeling that may negate it: Hindi does both.
_NEAR = 2
_TURNED = -0.6
_BOOST = 1.3
# The weight at which half of the scale is reached: about two clear words.
_HALF_OF_SCALE = 4.0
_MIXED_SHARE = 0.15
_LOW, _LAST = -0.3, 2
# The time that the analyzer takes grows with the square of the length.
_MAX_CHARS = 1_000


class _Analyzer(Protocol):
    lexicon: Mapping[str, float]

    def polarity_scores(self, text: str) -> dict[str, float]: ...


@dataclass(frozen=True, slots=True)
class SegmentSentiment:
    """`score` is -1 to 1; `label` positive, neutral, negative or mixed."""

    segment_id: str
    at_ms: int | None
    role: str
    score: float
    label: str


@dataclass(frozen=True, slots=True)
class SideSentiment:
    """One side's feeling over the four quarters of its own time, each -1 to 1 or None.

    `overall` weighs the mean of the lines, the lowest or highest of them and the last two. `begin`
    and `end` are the first and the last quarter that have data, `shift` is end - begin. Trend:
    no_change, slightly_improving, improving, slightly_declining, declining or not_calculated
    (docs/metrics.md).
    """

    overall: float | None = None
    by_quarter: tuple[float | None, ...] = (None, None, None, None)
    begin: float | None = None
    end: float | None = None
    shift: float | None = None
    trend: str = "not_calculated"


@dataclass(frozen=True, slots=True)
class Sentiment:
    customer: SideSentiment
    agent: SideSentiment
    segments: tuple[SegmentSentiment, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "customer": with_api_names(self.customer),
            "agent": with_api_names(self.agent),
            "timeline": [
                {
                    "segmentId": item.segment_id,
                    "atMs": item.at_ms,
                    "role": item.role,
                    "score": item.score,
                }
                for item in self.segments
            ],
        }


class Polarity(NamedTuple):
    """`score` is -1 to 1; `mixed` says that both good and bad have a clear share of the words."""

    score: float
    mixed: bool


def sentiment_of(
    dialogue: Dialogue, readings: Readings, settings: MetricSettings, *, read_all: bool = False
) -> Sentiment:
    """Score every line whose language is read; only the first 1,000 characters of it.

    The quarters of a call are quarters of its time. In a chat, and where a line has no time, every
    line of a side counts as equally long.

    Args:
        read_all: the lines of all languages were read.
    """
    if not dialogue.readable and not read_all:
        return Sentiment(SideSentiment(), SideSentiment(), ())
    polarities = _by_reading(readings, read_all=read_all)
    scored = []
    spans: dict[Side, list[tuple[int, int]]] = defaultdict(list)
    scores: dict[Side, list[float]] = defaultdict(list)
    for line, offset in _offsets_ms(dialogue):
        polarity = polarities.get(line.position) or _polarity(line)
        if polarity is None:
            continue
        scored.append(_scored(line, offset, polarity, settings))
        scores[line.side].append(polarity.score)
        if offset is not None and dialogue.channel != "chat":
            last = line.segment.end_ms
            spans[line.side].append((offset, offset if last is None else last))
    return Sentiment(
        customer=_side(scores[Side.CUSTOMER], spans[Side.CUSTOMER], settings),
        agent=_side(scores[Side.SERVICE], spans[Side.SERVICE], settings),
        segments=tuple(scored),
    )


def feelings_of(texts: Iterable[str]) -> list[float]:
    """Score English texts by VADER's word list, each -1 to 1."""
    return [_of_english(text[:_MAX_CHARS]).score for text in texts]


def _offsets_ms(dialogue: Dialogue) -> list[tuple[Line, int | None]]:
    """Give each line its ms from the start: of the recording, or of the first message.

    None for all lines where one of them has no time.
    """
    starts = [line.segment.start_ms for line in dialogue.lines]
    sent = [line.segment.sent_at for line in dialogue.lines]
    if None in starts:
        times = [time for time in sent if time is not None]
        if len(times) != len(sent):
            return [(line, None) for line in dialogue.lines]
        first = min(times, default=None)
        starts = [round((time - first).total_seconds() * 1000) for time in times if first]
    return list(zip(dialogue.lines, starts, strict=True))


def _by_reading(readings: Readings, *, read_all: bool) -> dict[int, Polarity]:
    return {
        line.line.position: Polarity(_round(line.score), line.mixed)
        for line in readings.lines
        if read_all or line.line.language == ENGLISH
    }


def _polarity(line: Line) -> Polarity | None:
    text = line.text[:_MAX_CHARS]
    if line.language == ENGLISH:
        return _of_english(text)
    lexicon = lexicon_of(line.language)
    if lexicon is None or lexicon.feelings is None:
        return None
    return _by_lexicon(text, lexicon.feelings)


def _of_english(text: str) -> Polarity:
    analyzer = _analyzer()
    if text.isascii():
        # Without emoji only a word of the lexicon feels like anything, and looking for one is cheap.
        words = text.lower().split()
        bare = [word.strip(punctuation) for word in words]
        emotional_words = analyzer.lexicon.keys()
        if emotional_words.isdisjoint(words) and emotional_words.isdisjoint(bare):
            return Polarity(0.0, mixed=False)
    scores = analyzer.polarity_scores(text)
    mixed = scores["pos"] >= _MIXED_SHARE and scores["neg"] >= _MIXED_SHARE
    return Polarity(scores["compound"], mixed)


@cache
def _analyzer() -> _Analyzer:
    analyzer: _Analyzer = SentimentIntensityAnalyzer()
    return analyzer


def _by_lexicon(text: str, feelings: Feelings) -> Polarity:
    """Score a text by its words; 0 where none is known."""
    clauses = [
        [word.replace(NUKTA, "") for word in words_in(clause)]
        for clause in _CLAUSE_END.split(text.lower().translate(PLAIN))
    ]
    weights = [weight for words in clauses for weight in _word_weights(words, feelings)]
    good = sum(weight for weight in weights if weight > 0)
    bad = sum(weight for weight in weights if weight < 0)
    least = _MIXED_SHARE * sum(map(len, clauses))
    return Polarity(
        score=round((good + bad) / (abs(good + bad) + _HALF_OF_SCALE), 4) + 0.0,
        mixed=bad < 0 < good and good >= least and -bad >= least,
    )


def _word_weights(words: list[str], feelings: Feelings) -> Iterator[float]:
    for index, word in enumerate(words):
        weight = feelings.words.get(word)
        if weight is None:
            continue
        before = words[max(0, index - _NEAR) : index]
        if not feelings.boosters.isdisjoint(before):
            weight *= _BOOST
        if not feelings.negations.isdisjoint(before + words[index + 1 : index + 1 + _NEAR]):
            weight *= _TURNED
        yield weight


def _scored(
    line: Line, offset: int | None, polarity: Polarity, settings: MetricSettings
) -> SegmentSentiment:
    score = polarity.score
    if polarity.mixed:
        label = "mixed"
    elif abs(score) < settings.sentiment_neutral:
        label = "neutral"
    else:
        label = "positive" if score > 0 else "negative"
    return SegmentSentiment(line.segment.id, offset, line.segment.role.value, score, label)


def _side(
    scores: Sequence[float], spans: Sequence[tuple[int, int]], settings: MetricSettings
) -> SideSentiment:
    if not scores:
        return SideSentiment()
    means = _by_time(scores, spans) if spans else _by_line(scores)
    known_means = [mean for mean in means if mean is not None]
    shift = known_means[-1] - known_means[0] if min(len(known_means), len(scores)) > 1 else None
    enough = len(scores) >= settings.trend_segments
    return SideSentiment(
        overall=_round(_overall(scores)),
        by_quarter=tuple(None if mean is None else _round(mean) for mean in means),
        begin=_round(known_means[0]),
        end=_round(known_means[-1]),
        shift=None if shift is None else _round(shift),
        trend="not_calculated" if shift is None or not enough else _trend(shift, settings),
    )


def _overall(scores: Sequence[float]) -> float:
    # One bad moment is remembered, and so is the end.
    mean, lowest = sum(scores) / len(scores), min(scores)
    ends = scores[-_LAST:]
    end = sum(ends) / len(ends)
    if lowest < _LOW:
        return 0.4 * mean + 0.35 * lowest + 0.25 * end
    return 0.5 * mean + 0.25 * max(scores) + 0.25 * end


def _by_time(scores: Sequence[float], spans: Sequence[tuple[int, int]]) -> list[float | None]:
    # A line counts where it starts.
    last = max(end for _, end in spans)
    quarters: list[list[float]] = [[], [], [], []]
    for score, (start, _) in zip(scores, spans, strict=True):
        quarters[min(3, 4 * start // last) if last > 0 else 0].append(score)
    return [sum(quarter) / len(quarter) if quarter else None for quarter in quarters]


def _by_line(scores: Sequence[float]) -> list[float | None]:
    # Each line becomes four equal parts, so that n lines divide into four quarters of n parts.
    # A line on a border counts in both quarters, with its share of parts.
    count = len(scores)
    parts = [score for score in scores for _ in range(4)]
    return [sum(parts[quarter : quarter + count]) / count for quarter in range(0, 4 * count, count)]


def _trend(shift: float, settings: MetricSettings) -> str:
    size = round(abs(shift), 4)
    if size < settings.trend_flat:
        return "no_change"
    direction = "improving" if shift > 0 else "declining"
    return direction if size > settings.trend_clear else f"slightly_{direction}"


def _round(value: float) -> float:
    # Adding zero turns -0.0, which JSON would show, into 0.0.
    return round(value, 4) + 0.0
