"""Conversation as a page shows it: turns with their marks, waits of a chat, moments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.dashboard.views.quotes import Quote, TextRun, text_runs
from app.dashboard.views.times import duration

# Waits from this length on are shown between the messages of a chat.
_SHOWN_WAIT_S = 60
# Words of a lower confidence are to be read with care.
_CONFIDENT = 0.5


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """One turn: who, when, and its text in runs.

    Attributes:
        clock: the time from the start of the conversation, such as `0:08`.
        wait_s: seconds without a message before this one, where they are worth showing.
        low_confidence: whether the words are to be read with care.
    """

    id: str
    role: str
    name: str | None
    clock: str
    start_ms: int | None
    end_ms: int | None
    language: str | None
    runs: Sequence[TextRun]
    wait_s: int | None
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class ShownMoment:
    """One moment: its sentence, and where it leads."""

    kind: str
    severity: str
    label: str
    clock: str
    start_ms: int | None
    end_ms: int | None
    segment_id: str | None


def turns_of(
    transcript: Mapping[str, Any], quotes: Mapping[str, Sequence[Quote]]
) -> list[ShownTurn]:
    """Return the turns of a transcript with the quotes of all criteria."""
    names = {
        participant["id"]: participant["displayName"] for participant in transcript["participants"]
    }
    segments = transcript["segments"]
    offsets = _offsets_ms(segments)
    turns = []
    for index, segment in enumerate(segments):
        confidence = segment["confidence"]
        turns.append(
            ShownTurn(
                id=segment["id"],
                role=segment["role"],
                name=names.get(segment["participantId"]),
                clock=clock(offsets[index]),
                start_ms=segment["startMs"],
                end_ms=segment["endMs"],
                language=segment["language"],
                runs=text_runs(segment["text"], quotes.get(segment["id"], ())),
                wait_s=_wait_s(segments, index),
                low_confidence=confidence is not None and confidence < _CONFIDENT,
            )
        )
    return turns


def moments_of(
    moments: Sequence[Mapping[str, Any]], segments: Sequence[Mapping[str, Any]]
) -> list[ShownMoment]:
    """Return the moments in the order of their times."""
    offsets = dict(zip((segment["id"] for segment in segments), _offsets_ms(segments), strict=True))

    def at_ms(moment: Mapping[str, Any]) -> int | None:
        start_ms: int | None = moment["startMs"]
        return offsets.get(moment["segmentId"]) if start_ms is None else start_ms

    return [
        ShownMoment(
            kind=moment["type"],
            severity=moment["severity"],
            label=moment["label"],
            clock=clock(at_ms(moment)),
            start_ms=moment["startMs"],
            end_ms=moment["endMs"],
            segment_id=moment["segmentId"],
        )
        for moment in sorted(moments, key=lambda moment: at_ms(moment) or 0)
    ]


def lanes_of(transcript: Mapping[str, Any]) -> list[str]:
    """Return the role of each channel of the recording, in the order of the channels."""
    by_channel = {
        participant["channelIndex"]: participant["role"]
        for participant in transcript["participants"]
        if participant["channelIndex"] is not None
    }
    return [by_channel[channel] for channel in sorted(by_channel)]


def clock(milliseconds: int | None) -> str:
    """Return a time from the start as people read it; empty where it is not known."""
    return "" if milliseconds is None else duration(milliseconds / 1000)


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


def _wait_s(segments: Sequence[Mapping[str, Any]], index: int) -> int | None:
    if index == 0:
        return None
    before, sent_at = _sent_at(segments[index - 1]), _sent_at(segments[index])
    if before is None or sent_at is None:
        return None
    wait_s = round((sent_at - before).total_seconds())
    return wait_s if wait_s >= _SHOWN_WAIT_S else None


def _sent_at(segment: Mapping[str, Any]) -> datetime | None:
    sent_at = segment["sentAt"]
    return datetime.fromisoformat(sent_at) if sent_at else None
