"""Conversation as a page shows it: turns with their quotes, the sound behind these, moments and sentiment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from app.dashboard.views.formatting import duration, signed, time_between
from app.evaluations.transcripts import numbered_voices

# Waits from this length on are shown between the messages of a chat.
_SHOWN_WAIT_S = 60
# Words of a lower confidence are to be read with care.
_CONFIDENT = 0.5
_AROUND_MS = 300
_LEAD_IN_MS = 5000
_WIDTH, _HEIGHT = 400, 60
# So much of what a voice says first tells it from the other one.
_FIRST_WORDS_CHARS = 120


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


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A segment of the transcript with what the page adds to it.

    Attributes:
        name: the name of its participant.
        clock: the time from the start, such as `0:08`.
        runs: the text with the quotes of all criteria.
        wait_s: the time without a message before, where it is worth showing.
        is_unsure: whether the words are to be read with care.
    """

    segment: Mapping[str, Any]
    name: str | None
    clock: str
    runs: list[TextRun]
    wait_s: int | None
    is_unsure: bool


def turns_of(
    transcript: Mapping[str, Any], quotes: Mapping[str, Sequence[Quote]]
) -> list[ShownTurn]:
    names = {
        participant["id"]: participant["displayName"] for participant in transcript["participants"]
    }
    segments = transcript["segments"]
    return [
        ShownTurn(
            segment,
            name=names.get(segment["participantId"]),
            clock=clock(offset_ms, duration if segment["startMs"] is not None else time_between),
            runs=text_runs(segment["text"], quotes.get(segment["id"], ())),
            wait_s=_wait_s(before, segment) if before else None,
            is_unsure=segment["confidence"] is not None and segment["confidence"] < _CONFIDENT,
        )
        for segment, before, offset_ms in zip(
            segments, [None, *segments], _offsets_ms(segments), strict=False
        )
    ]


def quotes_by_turn(criteria: Sequence[Mapping[str, Any]]) -> dict[str, list[Quote]]:
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


def moments_by_turn(moments: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    by_turn: dict[str, list[Mapping[str, Any]]] = {}
    for moment in moments:
        by_turn.setdefault(moment["segmentId"], []).append(moment)
    return by_turn


def quarters_of(sentiment: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the sentiment of customer and agent, without a side that was never measured.

    `quarters` are its numbers in words, `points` those of the line.
    """
    return [
        {
            "role": role,
            "trend": side["trend"],
            "quarters": [signed(value, 2) for value in side["byQuarter"]],
            "points": _points(side["byQuarter"]),
        }
        for role in ("customer", "agent")
        if sentiment
        and (side := sentiment[role])
        and any(value is not None for value in side["byQuarter"])
    ]


def voices_to_name(
    participants: Sequence[Mapping[str, Any]], segments: Sequence[Mapping[str, Any]]
) -> list[tuple[int, str]]:
    """Return the number and the first words of each of two voices that is not the agent's."""
    voices = numbered_voices(participants)
    if sorted(number for number, _ in voices) != [0, 1]:
        return []
    first: dict[str, str] = {}
    for segment in segments:
        said = first.get(segment["participantId"], "")
        if len(said) < _FIRST_WORDS_CHARS:
            first[segment["participantId"]] = f"{said} {segment['text']}".strip()
    return [
        (number, first[person["id"]])
        for number, person in voices
        if person["role"] != "agent" and person["id"] in first
    ]


def channel_roles(transcript: Mapping[str, Any]) -> list[str]:
    """Return the role of each channel of the recording, in the order of the channels."""
    by_channel = {
        participant["channelIndex"]: participant["role"]
        for participant in transcript["participants"]
        if participant["channelIndex"] is not None
    }
    return [by_channel[channel] for channel in sorted(by_channel)]


def clock(milliseconds: int | None, text_of: Callable[[float], str] = duration) -> str:
    """Return a time from the start as people read it; empty where it is not known."""
    return "" if milliseconds is None else text_of(milliseconds / 1000)


def snippet_parts(said: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Cut a snippet into its matches and the texts between them."""
    text, parts, reached = said["snippet"], [], 0
    for match in said["matches"]:
        parts += [
            (text[reached : match["start"]], False),
            (text[match["start"] : match["end"]], True),
        ]
        reached = match["end"]
    return [*parts, (text[reached:], False)]


def _wait_s(before: Mapping[str, Any], segment: Mapping[str, Any]) -> int | None:
    earlier, sent_at = _sent_at(before), _sent_at(segment)
    if earlier is None or sent_at is None:
        return None
    wait_s = round((sent_at - earlier).total_seconds())
    return wait_s if wait_s >= _SHOWN_WAIT_S else None


def _offsets_ms(segments: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """Return when each turn begins: its place in the sound, or after the first message."""
    first = next((sent for segment in segments if (sent := _sent_at(segment))), None)
    return [_offset_ms(segment, first) for segment in segments]


def _offset_ms(segment: Mapping[str, Any], first: datetime | None) -> int | None:
    if segment["startMs"] is not None:
        return int(segment["startMs"])
    sent_at = _sent_at(segment)
    if sent_at is None or first is None:
        return None
    return max(0, round((sent_at - first).total_seconds() * 1000))


def _sent_at(segment: Mapping[str, Any]) -> datetime | None:
    sent_at = segment["sentAt"]
    return datetime.fromisoformat(sent_at) if sent_at else None


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


def _points(values: Sequence[float | None]) -> str:
    """Return the middles of the quarters as points, from -1 at the bottom to 1 at the top."""
    step = _WIDTH / len(values)
    return " ".join(
        f"{step * (index + 0.5):g},{_HEIGHT * (1 - value) / 2:.1f}"
        for index, value in enumerate(values)
        if value is not None
    )
