"""Conversations: upserts and requests to evaluate them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import RowMapping, bindparam, update
from sqlalchemy.orm import Session

from app.ai.context import Context
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.conversations import messages, queries
from app.conversations.enums import ASYNCHRONOUS, ENDED
from app.conversations.models import Conversation, ConversationSearchText
from app.conversations.preparation import PreparedMessages
from app.conversations.transcripts import transcript_of
from app.core.database import upserts
from app.core.digests import digest_of
from app.core.errors import InvalidInput, NotFound
from app.directory.service import EXECUTIVES
from app.evaluations import references
from app.evaluations.enums import Channel, SourceType
from app.evaluations.erasure import require_kept
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation
from app.redaction import raw_texts

_NOTE_EVALUATION = (
    update(Conversation)
    .where(Conversation.id == bindparam("conversation_id"))
    .values(evaluation_id=bindparam("evaluation"), score=bindparam("new_score"))
)


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[RowMapping, bool, bool]:
    """Create or update a conversation; return it, whether it was created, and whether it changed.

    Values that are stored already change nothing.

    Args:
        values: the result of `preparation.prepare_conversation`.

    Raises:
        InvalidInput: a reference does not exist.
        Conflict: the conversation was erased.
    """
    given: PreparedMessages = values["messages"]
    columns = {name: value for name, value in values.items() if name != "messages"}
    digest = digest_of([columns, given.digest])
    columns |= {
        "executives": _executives(columns, given),
        "messages_digest": given.digest,
        "digest": digest,
    }
    _require(session, columns)
    row, created = upserts.find_or_create(session, Conversation, "conv", external_id, columns)
    require_kept(row.erased_at)
    if not created and row.digest == digest:
        return queries.get(session, row.id), False, False
    former_campaign_id = None if created else row.campaign_id
    if created or row.messages_digest != given.digest:
        messages.replace(session, row.id, given.rows, is_new=created)
        columns["raw_text_id"] = raw_texts.store(session, row.id, given.raw)
    upserts.update_row(session, row, columns)
    text = queries.search_text(columns, external_id)
    search_text = ConversationSearchText(conversation_id=row.id, text=text)
    if created:
        session.add(search_text)
    else:
        session.merge(search_text)
    session.flush()
    campaigns.count_move(session, former_campaign_id, row.campaign_id, CampaignCount.CONVERSATIONS)
    return queries.get(session, row.id), created, True


def request_evaluation(
    session: Session,
    conversation_id: str,
    *,
    scorecard_id: str | None = None,
    even_open: bool = False,
) -> Evaluation | None:
    """Queue the evaluation of a conversation as its next revision.

    Returns None if there is nothing to evaluate: the conversation is open, has no text, or has not
    changed since its last evaluation.

    Args:
        even_open: evaluate the conversation even while it is open.

    Raises:
        NotFound: there is no such conversation.
        InvalidInput: there is no such scorecard, or it is for another channel.
    """
    row = session.get(Conversation, conversation_id, with_for_update=True)
    if row is None:
        raise NotFound("There is no such conversation.")
    judged_digest = _input_digest(row, scorecard_id)
    if row.judged_digest == judged_digest or not (even_open or row.status in ENDED):
        return None
    rows = messages.of_conversation(session, row.id)
    if not any(message["text"].strip() and not message["internal"] for message in rows):
        return None
    row.judged_digest = judged_digest
    return judgements.request(
        session,
        transcript=replace(transcript_of(rows, row.language), redacted=row.redacted),
        raw_text_id=row.raw_text_id,
        context=_context(row),
        scorecard_id=scorecard_id,
        source_type=SourceType.CONVERSATION,
        source_id=row.id,
        channel=Channel.CHAT,
        **references.named(session, row),
        language=row.language,
        started_at=row.started_at,
        duration_seconds=row.duration_seconds,
        external_id=row.external_id,
        labels=row.labels,
    )


def note_evaluations(session: Session, changed: Sequence[Evaluation]) -> None:
    """Store the ids and scores of current evaluations with their conversations."""
    rows = [
        {"conversation_id": current.source_id, "evaluation": current.id, "new_score": current.score}
        for current in changed
        if current.source_type == SourceType.CONVERSATION
    ]
    if rows:
        session.connection().execute(_NOTE_EVALUATION, rows)


def _require(session: Session, columns: Mapping[str, Any]) -> None:
    references.require(session, columns)
    executive_ids = columns["executives"]
    known = EXECUTIVES.names(session, executive_ids) if executive_ids else {}
    for executive_id in executive_ids:
        if executive_id not in known:
            raise InvalidInput.field("messages", f"There is no executive {executive_id}.")


def _executives(columns: Mapping[str, Any], given: PreparedMessages) -> list[str]:
    """Return the executives of the conversation and of its messages, without repeats."""
    ids = [columns.get("executive_id"), *(message["executive_id"] for message in given.rows)]
    return list(dict.fromkeys(executive_id for executive_id in ids if executive_id is not None))


def _input_digest(row: Conversation, scorecard_id: str | None) -> str:
    """Hash everything that an evaluation depends on; tags, for example, do not belong to it."""
    ids: list[Any] = [getattr(row, column) for column in references.COLUMNS]
    times = [row.started_at, row.ended_at, row.duration_seconds]
    kind = [row.language, row.platform, row.status in ENDED, row.labels, scorecard_id]
    return digest_of([*ids, *times, *kind, row.messages_digest])


def _context(row: Conversation) -> Context:
    return Context(
        language=row.language,
        asynchronous=row.platform in ASYNCHRONOUS,
        completed=row.status in ENDED,
        closed_at=row.ended_at if row.status in ENDED else None,
    )
