"""Quotes of evidence: their place in the text of a turn, and in the sound."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_AROUND_MS = 300
_LEAD_IN_MS = 5000


@dataclass(frozen=True, slots=True)
class Quote:
    """One quote of a criterion, by the characters of its turn."""

    criterion: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TextRun:
    """A part of a turn's text, with the criteria that quote all of it."""

    text: str
    criteria: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlayWindow:
    """Part of the sound, in milliseconds."""

    start_ms: int
    end_ms: int

    @property
    def lead_in_ms(self) -> int:
        """Start of playback 5 seconds before the quote, to hear what led to it."""
        return max(0, self.start_ms - _LEAD_IN_MS)


def quotes_by_turn(criteria: Sequence[Mapping[str, Any]]) -> dict[str, list[Quote]]:
    """Return the quotes of all criteria by the id of their turn."""
    quotes: dict[str, list[Quote]] = {}
    for criterion in criteria:
        for item in criterion["evidence"]:
            quote = Quote(criterion["key"], item["charStart"], item["charEnd"])
            quotes.setdefault(item["segmentId"], []).append(quote)
    return quotes


def text_runs(text: str, quotes: Sequence[Quote]) -> list[TextRun]:
    """Cut a text at every end of a quote, so that overlapping quotes keep their criteria."""
    cuts = {0, len(text)}
    for quote in quotes:
        cuts.update(place for place in (quote.start, quote.end) if 0 < place < len(text))
    places = sorted(cuts)
    return [
        TextRun(text[start:end], _covering(quotes, start, end)) for start, end in pairwise(places)
    ]


def play_window(
    turn: Mapping[str, Any] | None, start: int, end: int, *, duration_ms: int | None = None
) -> PlayWindow | None:
    """Return the part of the sound around the words of a quote; None if its turn has no sound.

    A turn whose words have no times is played whole.

    Args:
        start: first character of the quote in the turn's text.
        end: the character after its last.
        duration_ms: length of the recording, beyond which no window reaches.
    """
    if turn is None or turn["startMs"] is None:
        return None
    timed = [
        word for word, at in _placed_words(turn) if at < end and at + len(word["text"]) > start
    ]
    first_ms = timed[0]["startMs"] if timed else turn["startMs"]
    last_ms = timed[-1]["endMs"] if timed else turn["endMs"]
    last_ms = first_ms if last_ms is None else last_ms
    latest_ms = last_ms + _AROUND_MS
    return PlayWindow(
        max(0, first_ms - _AROUND_MS),
        latest_ms if duration_ms is None else max(first_ms, min(latest_ms, duration_ms)),
    )


def _covering(quotes: Sequence[Quote], start: int, end: int) -> tuple[str, ...]:
    covering = (quote.criterion for quote in quotes if quote.start <= start and end <= quote.end)
    return tuple(dict.fromkeys(covering))


def _placed_words(turn: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield the timed words that occur in the text, in order, with their places."""
    place = 0
    for word in turn["words"]:
        if word["startMs"] is None or not word["text"]:
            continue
        start = turn["text"].find(word["text"], place)
        if start >= 0:
            yield word, start
            place = start + len(word["text"])
