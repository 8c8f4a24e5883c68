"""A conversation on its way in: worked out before any transaction is open."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.ai.context import Context
from app.ai.dialogue.turns import Dialogue, dialogue_of
from app.ai.facts.measures import Measures
from app.ai.facts.response_times import answer_times, measure_responses, sent_times
from app.conversations.transcripts import transcript_of, with_participants
from app.core.digests import digest_of
from app.redaction.redactor import Redactor, Sealed

# What is given of a message; two with the same of these, in the same place, are the same message.
GIVEN = (
    *("role", "text", "sent_at", "author_name", "executive_id"),
    *("language", "internal", "attachments", "details"),
)
_BLANK: dict[str, Any] = {
    "sent_at": None,
    "author_name": None,
    "executive_id": None,
    "language": None,
    "internal": False,
    "attachments": [],
    "details": {},
}


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a draft: the columns of each but its ids, and the digest of what was given.

    `raw` is what was masked in them, sealed.
    """

    rows: tuple[dict[str, Any], ...]
    digest: str
    raw: Sealed | None = None


def drafted(fields: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask the messages of a conversation and work out their counts, times and waits.

    It takes long enough to run before any transaction is open.

    Args:
        fields: columns of a conversation, and `messages`: of each `role` and `text`, and what
            else of `GIVEN` is known.

    Returns:
        The columns with those that were worked out, and `messages` as `Messages`.
    """
    given = [{**_BLANK, **each} for each in fields["messages"]]
    values = {name: value for name, value in fields.items() if name != "messages"}
    named = with_participants(given)
    # Only who wrote when is read of it, so that the language makes no difference.
    dialogue = dialogue_of(transcript_of(named, None), channel="chat", language="en")
    waits = _waits(dialogue)
    masked, raw = _masked(named, redactor)
    spoken = [index for index, each in enumerate(named) if not each["internal"]]
    seconds = {spoken[segment]: wait for segment, wait in waits.items()}
    rows = tuple(
        {**each, "index": index, "response_seconds": seconds.get(index)}
        for index, each in enumerate(masked)
    )
    return {
        **_masked_values(values, redactor),
        **_counts(given),
        **_times(values, given),
        **_responses(dialogue),
        "redacted": redactor.enabled,
        "messages": Messages(rows, digest_of([redactor.enabled, given]), raw),
    }


def _masked(
    messages: Sequence[Mapping[str, Any]], redactor: Redactor
) -> tuple[list[dict[str, Any]], Sealed | None]:
    """Mask the texts; what they were is sealed by message, and by segment as judges number them."""
    masked, originals = redactor.masked_messages(messages, "participant_id")
    if not originals:
        return masked, None
    spoken = [str(index) for index, each in enumerate(messages) if not each["internal"]]
    segments = {
        f"seg_{place + 1:04d}": {"text": originals[index], "words": []}
        for place, index in enumerate(spoken)
        if index in originals
    }
    return masked, redactor.seal(messages=originals, segments=segments)


def _masked_values(values: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask what people have written beside the messages."""
    masked = {**values, "subject": redactor.masked_text(values.get("subject"))}
    if values.get("csat"):
        comment = redactor.masked_text(values["csat"].get("comment"))
        masked["csat"] = {**values["csat"], "comment": comment}
    return masked


def _counts(messages: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count the messages of each role; internal notes count only in the whole."""
    roles = Counter(each["role"] for each in messages if not each["internal"])
    return {
        "message_count": len(messages),
        **{f"{role}_message_count": roles[role] for role in ("customer", "agent", "bot")},
    }


def _times(values: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Tell when it began and how long it took, where the source tells it.

    A conversation begins with its first message, unless the source says otherwise; it may end
    long after its last one, so that no end is taken from there.
    """
    sent: list[datetime | None] = [each["sent_at"] for each in messages if not each["internal"]]
    known = [moment for moment in sent if moment is not None]
    started_at = values.get("started_at") or (min(known) if known else None)
    whole = len(known) == len(sent)
    ended_at = values.get("ended_at") or (max(known) if known and whole else None)
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
    """Map the positions of segments to the seconds that the customer had waited for them."""
    sent = sent_times(dialogue)
    if sent is None or not dialogue.attributed:
        return {}
    return {line.segment.index: wait for line, wait in answer_times(dialogue.lines, sent)}
