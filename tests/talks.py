"""Small conversations for the tests of the judgement: written here, and no text of anybody's."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import app.scorecards
from app.judge.scorecard.values import Scorecard, scorecard_from
from app.transcript import Participant, Role, Segment, Transcript, Word

DEFAULTS = Path(app.scorecards.__file__).parent / "defaults"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LETTERS = {"a": Role.AGENT, "c": Role.CUSTOMER, "b": Role.BOT, "s": Role.SYSTEM, "u": Role.UNKNOWN}


def document(channel: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEFAULTS / f"{channel}.json").read_text("utf-8"))
    return found


def scorecard(channel: str, **parameters: dict[str, Any]) -> Scorecard:
    """Read a default scorecard; a keyword gives parameters to the criteria of that rule."""
    changed = document(channel)
    for criterion in changed["criteria"]:
        criterion["judge"].get("parameters", {}).update(
            parameters.get(criterion["judge"].get("rule", ""), {})
        )
    return scorecard_from(changed)


def with_words(transcript: Transcript) -> Transcript:
    """Give every segment the times of its words, without pauses between them."""
    return replace(transcript, segments=tuple(map(_with_words, transcript.segments)))


def _with_words(segment: Segment) -> Segment:
    texts, start, end = segment.text.split(), segment.start_ms, segment.end_ms
    assert start is not None
    assert end is not None
    times = [start + (end - start) * place // len(texts) for place in range(len(texts) + 1)]
    spans = zip(texts, times, times[1:], strict=False)
    return replace(
        segment, words=tuple(Word(text, begun, ended, None) for text, begun, ended in spans)
    )


def call(*lines: tuple[Any, ...], duration: int | None = None, **fields: Any) -> Transcript:
    """Make a recording of (letter, start ms, end ms, text)."""
    segments = tuple(
        Segment(
            f"seg_{index + 1:04d}", index, letter, LETTERS[letter], text, start_ms=start, end_ms=end
        )
        for index, (letter, start, end, text) in enumerate(lines)
    )
    fields = {"speaker_attribution": "channel", "language": "en", **fields}
    return Transcript(segments, _people(segments), duration_ms=duration, **fields)


def chat(*lines: tuple[Any, ...], **fields: Any) -> Transcript:
    """Make a chat of (letter, seconds from the start or None, text)."""
    segments = tuple(
        Segment(
            f"seg_{index + 1:04d}",
            index,
            letter,
            LETTERS[letter],
            text,
            sent_at=None if second is None else START + timedelta(seconds=second),
        )
        for index, (letter, second, text) in enumerate(lines)
    )
    fields = {"speaker_attribution": "messages", "language": "en", **fields}
    return Transcript(segments, _people(segments), **fields)


def worth(item: dict[str, Any]) -> float:
    """Return what the score counts of a criterion: as judged, or else as estimated."""
    counted: float = item["estimate" if item["normalizedScore"] is None else "normalizedScore"]
    return counted


def words(count: int) -> str:
    return " ".join(["word"] * count)


def _people(segments: tuple[Segment, ...]) -> tuple[Participant, ...]:
    roles = {segment.participant_id: segment.role for segment in segments}
    return tuple(
        Participant(key, role, "bot" if role is Role.BOT else "human")
        for key, role in roles.items()
    )


GOOD_CALL = call(
    ("a", 0, 5_000, "Thank you for calling Northwind Bank, my name is Anna. How can I help you?"),
    ("c", 5_400, 9_000, "Hi, I would like to know what is left on my savings account please."),
    ("a", 9_500, 13_000, "Sure. May I have your full name and date of birth to verify you?"),
    ("c", 13_300, 17_000, "Maria Gomez, the second of May 1980."),
    ("a", 17_500, 19_500, "Thank you, please hold on while I look that up."),
    ("a", 33_000, 39_000, "Thanks for waiting. Your savings account balance is 410 dollars."),
    ("c", 39_300, 43_000, "Great, and can you stop the standing order to my landlord?"),
    (
        "a",
        43_200,
        48_000,
        "I have cancelled it now. To recap, it ends today and the balance stays.",
    ),
    ("c", 48_300, 50_000, "Wonderful, thank you so much."),
    ("a", 50_200, 54_000, "Is there anything else I can do for you?"),
    ("c", 54_300, 56_000, "No, that is all. Goodbye."),
    ("a", 56_200, 58_000, "Have a nice day, goodbye."),
    duration=60_000,
)
GOOD_CHAT = chat(
    ("c", 0, "Hello, my parcel has not arrived and I am a little worried."),
    ("a", 30, "Good morning! I am sorry to hear that. What is the number of the order?"),
    ("c", 55, "It is 1188."),
    ("a", 95, "Thank you. The driver missed you; I have scheduled a new delivery for you."),
    ("c", 120, "Great, thank you very much!"),
    ("a", 140, "We will bring it by Tuesday. Is there anything else I can help with?"),
    ("c", 160, "No, that's all. Bye!"),
)
