"""Transcript of a voice call for the judges, from its turns or its recording."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.ai.transcript import Participant, Role, Segment, Transcript
from app.redaction.redactor import redactions_from

_KINDS = {"customer": "human", "agent": "human", "bot": "bot", "system": "ivr"}


def of_turns(
    turns: Sequence[Mapping[str, Any]],
    *,
    language: str | None,
    bot_name: str | None = None,
    redacted: bool = False,
) -> Transcript:
    """Build the transcript of the turns, ordered by start time if all have one."""
    ordered = [turns[index] for index in reading_order(turns)]
    ends = [turn["end_ms"] for turn in ordered if turn["end_ms"] is not None]
    return Transcript(
        segments=tuple(_segment(index, turn) for index, turn in enumerate(ordered)),
        participants=tuple(
            Participant(
                id=role,
                role=Role(role),
                kind=_KINDS[role],
                display_name=bot_name if role == "bot" else None,
            )
            for role in dict.fromkeys(turn["role"] for turn in ordered)
        ),
        duration_ms=max(ends) if len(ends) == len(ordered) > 0 else None,
        language=language,
        provider="source",
        speaker_attribution="messages",
        redacted=redacted,
    )


def reading_order(turns: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indexes of the turns by start time, or unchanged if a turn has none."""
    indexes = list(range(len(turns)))
    if all(turn["start_ms"] is not None for turn in turns):
        indexes.sort(key=lambda index: turns[index]["start_ms"])
    return indexes


def of_recording(transcript: Transcript, *, transferred: bool, bot_name: str | None) -> Transcript:
    """Assign the agent's channel to the bot, unless the call was transferred to a person."""
    if transferred:
        return transcript
    return replace(
        transcript,
        segments=tuple(
            replace(segment, role=Role.BOT) if segment.role is Role.AGENT else segment
            for segment in transcript.segments
        ),
        participants=tuple(
            replace(participant, role=Role.BOT, kind="bot", display_name=bot_name)
            if participant.role is Role.AGENT
            else participant
            for participant in transcript.participants
        ),
    )


def _segment(index: int, turn: Mapping[str, Any]) -> Segment:
    # A turn with only one of its times counts as untimed: measures need both.
    timed = turn["start_ms"] is not None and turn["end_ms"] is not None
    return Segment(
        id=f"seg_{index + 1:04d}",
        index=index,
        participant_id=turn["role"],
        role=Role(turn["role"]),
        text=turn["text"],
        start_ms=turn["start_ms"] if timed else None,
        end_ms=turn["end_ms"] if timed else None,
        redactions=redactions_from(turn.get("redactions", ())),
    )
