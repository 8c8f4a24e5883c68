"""Preparation of a conversation before it is stored, and its transcript for the judges."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.json_documents import digest_of
from app.judge.context import Context
from app.judge.dialogue.turns import Dialogue, dialogue_of
from app.judge.facts.metrics import Measures, answer_times, measure_responses, sent_times
from app.redaction.redactor import Redactor, SealedOriginals, redactions_from
from app.transcript import Participant, Role, Segment, Transcript

# Given columns of a message; a message whose given columns are equal is unchanged.
GIVEN_COLUMNS = (
    *("role", "text", "sent_at", "author_name", "executive_id"),
    *("language", "internal", "attachments", "details"),
)
_DEFAULTS: dict[str, Any] = {
    "sent_at": None,
    "author_name": None,
    "executive_id": None,
    "language": None,
    "internal": False,
    "attachments": [],
    "details": {},
}


@dataclass(frozen=True, slots=True)
class PreparedMessages:
    """Columns of the messages without ids, the digest of the given ones, and the sealed originals."""

    rows: tuple[dict[str, Any], ...]
    digest: str
    raw: SealedOriginals | None


def prepare_conversation(fields: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask the messages of a conversation and compute their counts and times.

    This takes too long for a transaction.

    Args:
        fields: columns of a conversation, and `messages` with `role`, `text` and other columns of
            `GIVEN_COLUMNS`.

    Returns:
        The columns, including the computed ones, and `messages` as `PreparedMessages`.
    """
    messages = [{**_DEFAULTS, **message} for message in fields["messages"]]
    values = {name: value for name, value in fields.items() if name != "messages"}
    attributed = _with_participants(messages)
    # The measures below use only roles and times, so the language does not matter.
    dialogue = dialogue_of(transcript_of(attributed, None), channel="chat", language="en")
    waits = _waits(dialogue)
    masked, raw = _masked(attributed, redactor)
    spoken = [index for index, message in enumerate(attributed) if not message["internal"]]
    seconds = {spoken[segment]: wait for segment, wait in waits.items()}
    rows = tuple(
        {**message, "index": index, "response_seconds": seconds.get(index)}
        for index, message in enumerate(masked)
    )
    return {
        **_masked_values(values, redactor),
        **_counts(messages),
        **_times(values, messages),
        **_responses(dialogue),
        "redacted": redactor.enabled,
        "messages": PreparedMessages(rows, digest_of([redactor.enabled, messages]), raw),
    }


def transcript_of(messages: Sequence[Mapping[str, Any]], language: str | None) -> Transcript:
    """Build the transcript of messages, stored or not yet: in order, without internal notes."""
    spoken = [message for message in messages if not message["internal"]]
    return Transcript(
        segments=tuple(_segment(index, message) for index, message in enumerate(spoken)),
        participants=_participants(spoken),
        duration_ms=_span_ms([message["sent_at"] for message in spoken]),
        language=language,
        provider="source",
        speaker_attribution="messages",
    )


def _with_participants(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
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


def _masked(
    messages: Sequence[Mapping[str, Any]], redactor: Redactor
) -> tuple[list[dict[str, Any]], SealedOriginals | None]:
    """Mask the texts; the originals are sealed by message, and by segment of the transcript."""
    masked, originals = redactor.masked_messages(messages, "participant_id")
    if not originals:
        return masked, None
    spoken = [str(index) for index, message in enumerate(messages) if not message["internal"]]
    segments = {
        f"seg_{place + 1:04d}": {"text": originals[index], "words": []}
        for place, index in enumerate(spoken)
        if index in originals
    }
    return masked, redactor.seal(messages=originals, segments=segments)


def _masked_values(values: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask the texts outside the messages."""
    masked = {**values, "subject": redactor.masked_text(values.get("subject"))}
    if values.get("csat"):
        comment = redactor.masked_text(values["csat"].get("comment"))
        masked["csat"] = {**values["csat"], "comment": comment}
    return masked


def _counts(messages: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the messages by role; internal notes count only in the total."""
    roles = Counter(message["role"] for message in messages if not message["internal"])
    return {
        "message_count": len(messages),
        **{f"{role}_message_count": roles[role] for role in ("customer", "agent", "bot")},
    }


def _times(values: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the start and the duration, as far as the source gives times.

    A conversation starts with its first message unless the source gives another time. It may end
    long after its last message, so the end is not derived.
    """
    sent: list[datetime | None] = [
        message["sent_at"] for message in messages if not message["internal"]
    ]
    times = [moment for moment in sent if moment is not None]
    started_at = values.get("started_at") or min(times, default=None)
    are_complete = len(times) == len(sent)
    ended_at = values.get("ended_at") or (max(times, default=None) if are_complete else None)
    seconds = None
    if started_at is not None and ended_at is not None:
        seconds = max(0, round((ended_at - started_at).total_seconds()))
    return {"started_at": started_at, "duration_seconds": seconds}


def _responses(dialogue: Dialogue) -> dict[str, float | int | None]:
    measures = Measures()
    measure_responses(measures, dialogue, Context())
    return {
        "first_response_seconds": measures.get("firstResponseSeconds"),
        "average_response_seconds": measures.get("responseSecondsAvg"),
    }


def _waits(dialogue: Dialogue) -> dict[int, float]:
    """Map segment indexes to the seconds that the customer waited for them."""
    sent = sent_times(dialogue)
    if sent is None or not dialogue.attributed:
        return {}
    return {line.segment.index: wait for line, wait in answer_times(dialogue.lines, sent)}
