"""Transcript of a chat for the judges: its messages in order, without internal notes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.ai.transcript import Participant, Role, Segment, Transcript
from app.redaction.redactor import redactions_from


def transcript_of(messages: Sequence[Mapping[str, Any]], language: str | None) -> Transcript:
    """Build the transcript of messages, which may be stored or not yet."""
    spoken = [message for message in messages if not message["internal"]]
    return Transcript(
        segments=tuple(_segment(index, message) for index, message in enumerate(spoken)),
        participants=_participants(spoken),
        duration_ms=_span_ms([message["sent_at"] for message in spoken]),
        language=language,
        provider="source",
        speaker_attribution="messages",
    )


def with_participants(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add participant ids: the role, numbered from the second person of a role on."""
    participant_ids: dict[tuple[str, str | None, str | None], str] = {}
    people_by_role: Counter[str] = Counter()
    attributed = []
    for message in messages:
        role = message["role"]
        person = (role, message["executive_id"], message["author_name"])
        if person not in participant_ids:
            people_by_role[role] += 1
            number = people_by_role[role]
            participant_ids[person] = role if number == 1 else f"{role}_{number}"
        attributed.append({**message, "participant_id": participant_ids[person]})
    return attributed


def _segment(index: int, message: Mapping[str, Any]) -> Segment:
    return Segment(
        id=f"seg_{index + 1:04d}",
        index=index,
        participant_id=message["participant_id"],
        role=Role(message["role"]),
        text=message["text"],
        language=message["language"],
        message_id=message.get("id"),
        sent_at=message["sent_at"],
        redactions=redactions_from(message.get("redactions", ())),
    )


def _participants(messages: Iterable[Mapping[str, Any]]) -> tuple[Participant, ...]:
    participants: dict[str, Participant] = {}
    for message in messages:
        participants.setdefault(
            message["participant_id"],
            Participant(
                id=message["participant_id"],
                role=Role(message["role"]),
                kind="human" if message["role"] in ("customer", "agent") else "bot",
                display_name=message["author_name"],
                executive_id=message["executive_id"],
            ),
        )
    return tuple(participants.values())


def _span_ms(times: Sequence[datetime | None]) -> int | None:
    moments = [time for time in times if time is not None]
    if not moments or len(moments) < len(times):
        return None
    return round((max(moments) - min(moments)).total_seconds() * 1000)
