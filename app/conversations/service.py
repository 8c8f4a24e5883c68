"""Conversations: upserts, requests to evaluate them, and erasure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, bindparam, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.conversations import messages, queries
from app.conversations.enums import ASYNCHRONOUS, ENDED
from app.conversations.models import Conversation, ConversationSearchText, Message
from app.conversations.preparation import PreparedMessages, transcript_of
from app.core.clock import utc_now
from app.core.database import upserts
from app.core.database.filters import searchable
from app.core.database.rows import find_row
from app.core.database.upserts import Upserted
from app.core.errors import InvalidInput
from app.core.ids import new_id
from app.core.json_documents import digest_of
from app.directory.service import EXECUTIVES
from app.evaluations import sources, transcripts
from app.evaluations.enums import Channel, SourceType
from app.evaluations.erasure import require_kept
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, StoredTranscript
from app.judge.context import Context
from app.redaction import raw_texts

_NOTE_EVALUATION = (
    update(Conversation)
    .where(Conversation.id == bindparam("conversation_id"))
    .values(evaluation_id=bindparam("evaluation"), score=bindparam("new_score"))
)


@dataclass(frozen=True, slots=True)
class ConversationInput:
    """A conversation to store: its external id, and the result of `prepare_conversation`."""

    external_id: str
    values: Mapping[str, Any]

    @property
    def messages(self) -> PreparedMessages:
        messages: PreparedMessages = self.values["messages"]
        return messages

    def columns(self) -> dict[str, Any]:
        """Return the columns of its row, digests included."""
        columns = {name: value for name, value in self.values.items() if name != "messages"}
        return {
            **columns,
            "executives": _executives(columns, self.messages),
            "messages_digest": self.messages.digest,
            "digest": digest_of([columns, self.messages.digest]),
        }


@dataclass(frozen=True, slots=True)
class CreatedConversation:
    row: Conversation
    messages: Sequence[Mapping[str, Any]]


def upsert(session: Session, external_id: str, values: Mapping[str, Any]) -> Upserted[RowMapping]:
    """Create or update a conversation; values that are stored already change nothing.

    Raises:
        InvalidInput: a reference does not exist.
        Conflict: the conversation was erased.
    """
    conversation = ConversationInput(external_id, values)
    row = upserts.find(session, Conversation, external_id)
    if row is None:
        try:
            with session.begin_nested():
                [created] = create_all(session, [conversation])
            return Upserted(queries.get(session, created.row.id), created=True, changed=True)
        except IntegrityError:
            row = upserts.find(session, Conversation, external_id)
            if row is None:
                raise
    changed = _update(session, row, conversation)
    return Upserted(queries.get(session, row.id), created=False, changed=changed)


def put(
    session: Session, external_id: str, values: Mapping[str, Any], *, evaluate: bool | None = None
) -> Upserted[RowMapping]:
    """Create or update a conversation and request its evaluation.

    Args:
        evaluate: None evaluates a closed or abandoned conversation, True an open one too.
    """
    stored = upsert(session, external_id, values)
    if evaluate is False:
        return stored
    request_evaluation(session, stored.record["id"], even_open=bool(evaluate))
    return stored._replace(record=queries.get(session, stored.record["id"]))


def create_all(
    session: Session, conversations: Sequence[ConversationInput]
) -> list[CreatedConversation]:
    """Create conversations whose external ids are new.

    Raises:
        InvalidInput: a reference does not exist.
        IntegrityError: there is a conversation of one of the external ids.
    """
    now = utc_now()
    columns = [conversation.columns() for conversation in conversations]
    _require(session, columns)
    created = []
    for conversation, values in zip(conversations, columns, strict=True):
        raw = conversation.messages.raw
        row = Conversation(
            id=new_id("conv"),
            external_id=conversation.external_id,
            created_at=now,
            updated_at=now,
            raw_text_id=None if raw is None else raw.id,
            **values,
        )
        created.append(
            CreatedConversation(row, messages.new_rows(row.id, conversation.messages.rows))
        )
    session.add_all(item.row for item in created)
    session.flush()
    messages.insert_all(session, [row for item in created for row in item.messages])
    for item, conversation in zip(created, conversations, strict=True):
        raw_texts.store(session, item.row.id, conversation.messages.raw)
        text = queries.search_text(conversation.values, conversation.external_id)
        session.add(ConversationSearchText(conversation_id=item.row.id, text=text))
    session.flush()
    campaign_ids = Counter(item.row.campaign_id for item in created if item.row.campaign_id)
    for campaign_id, number in campaign_ids.items():
        campaigns.count(session, campaign_id, CampaignCount.CONVERSATIONS, by=number)
    return created


def known_external_ids(session: Session, external_ids: Collection[str]) -> set[str]:
    column = Conversation.external_id
    stored_ids = session.scalars(select(column).where(column.in_(external_ids)))
    return {external_id for external_id in stored_ids if external_id is not None}


def request_evaluation(
    session: Session,
    conversation_id: str,
    *,
    scorecard_id: str | None = None,
    even_open: bool = False,
) -> Evaluation | None:
    """Queue the evaluation of a conversation as its next revision.

    Returns None if there is nothing to evaluate: the conversation is open (which `even_open`
    allows), has no text, or has not changed since its last evaluation.

    Raises:
        NotFound: there is no such conversation.
        InvalidInput: there is no such scorecard, or it is for another channel.
    """
    row = find_row(session, Conversation, conversation_id, "conversation", for_update=True)
    if row.judged_digest == _input_digest(row, scorecard_id):
        return None
    if not (even_open or row.status in ENDED):
        return None
    rows = messages.of_conversation(session, row.id)
    if not _have_text(rows):
        return None
    [names] = sources.named(session, [row])
    new = _new_evaluation(row, rows, names, scorecard_id)
    return judgements.request(session, *new, scorecard_id=scorecard_id)


def request_first_evaluations(
    session: Session, created: Sequence[CreatedConversation], *, scorecard_id: str | None
) -> list[Evaluation]:
    """Queue the evaluations of created conversations that have ended and have a text.

    Raises:
        InvalidInput: there is no such scorecard, or it is for another channel.
    """
    judged = [item for item in created if item.row.status in ENDED and _have_text(item.messages)]
    names = sources.named(session, [item.row for item in judged])
    new = [
        _new_evaluation(item.row, item.messages, item_names, scorecard_id)
        for item, item_names in zip(judged, names, strict=True)
    ]
    return judgements.request_first(session, new, scorecard_id=scorecard_id) if new else []


def note_evaluations(session: Session, changed: Sequence[Evaluation]) -> None:
    rows = [
        {"conversation_id": current.source_id, "evaluation": current.id, "new_score": current.score}
        for current in changed
        if current.source_type == SourceType.CONVERSATION
    ]
    if rows:
        session.connection().execute(_NOTE_EVALUATION, rows)


def is_of(customer_ref: str) -> ColumnElement[bool]:
    """Return whether a conversation is of this customer and not erased."""
    return Conversation.customer_ref == customer_ref


def erase(session: Session, conversation_ids: Sequence[str]) -> None:
    """Delete texts and names of these conversations; their evaluations are erased separately.

    Counts and times are kept.
    """
    session.execute(
        update(Message)
        .where(Message.conversation_id.in_(conversation_ids))
        .values(text="", redactions=[], author_name=None, attachments=[], details={})
        .execution_options(synchronize_session=False)
    )
    for row in session.scalars(
        select(Conversation)
        .where(Conversation.id.in_(conversation_ids))
        .order_by(Conversation.id)
        .with_for_update()
    ):
        row.subject = row.customer_ref = row.raw_text_id = None
        row.csat = {**row.csat, "comment": None} if row.csat else None
        row.labels = {}
        row.digest = row.messages_digest = ""
        row.judged_digest = None
        row.erased_at = row.updated_at = utc_now()
        search_text = session.get(ConversationSearchText, row.id)
        if search_text is not None:
            search_text.text = searchable(row.external_id)


def _have_text(rows: Sequence[Mapping[str, Any]]) -> bool:
    return any(message["text"].strip() and not message["internal"] for message in rows)


def _new_evaluation(
    row: Conversation,
    rows: Sequence[Mapping[str, Any]],
    names: Mapping[str, Any],
    scorecard_id: str | None,
) -> tuple[Evaluation, StoredTranscript]:
    row.judged_digest = _input_digest(row, scorecard_id)
    transcript = replace(transcript_of(rows, row.language), redacted=row.redacted)
    evaluation = Evaluation(
        source_type=SourceType.CONVERSATION,
        source_id=row.id,
        channel=Channel.CHAT,
        **names,
        language=row.language,
        started_at=row.started_at,
        conversation_at=row.conversation_at,
        duration_seconds=row.duration_seconds,
        external_id=row.external_id,
        labels=row.labels,
        context=sources.context_document(_context(row)),
    )
    stored = transcripts.row_of(SourceType.CONVERSATION, row.id, transcript, row.raw_text_id)
    return evaluation, stored


def _update(session: Session, row: Conversation, conversation: ConversationInput) -> bool:
    """Update a conversation; return whether it had other values."""
    columns = conversation.columns()
    _require(session, [columns])
    require_kept(row.erased_at)
    if row.digest == columns["digest"]:
        return False
    former_campaign_id = row.campaign_id
    if row.messages_digest != conversation.messages.digest:
        messages.replace(session, row.id, conversation.messages.rows)
        columns["raw_text_id"] = raw_texts.store(session, row.id, conversation.messages.raw)
    columns["conversation_at"] = columns["started_at"] or row.created_at
    upserts.update_row(session, row, columns)
    text = queries.search_text(columns, conversation.external_id)
    session.merge(ConversationSearchText(conversation_id=row.id, text=text))
    session.flush()
    campaigns.count_move(session, former_campaign_id, row.campaign_id, CampaignCount.CONVERSATIONS)
    return True


def _require(session: Session, columns: Sequence[dict[str, Any]]) -> None:
    sources.resolve(session, *columns)
    executive_ids = {executive_id for row in columns for executive_id in row["executives"]}
    names = EXECUTIVES.names(session, executive_ids) if executive_ids else {}
    for executive_id in sorted(executive_ids - names.keys()):
        raise InvalidInput.field("messages", f"There is no executive {executive_id}.")


def _executives(columns: Mapping[str, Any], prepared: PreparedMessages) -> list[str]:
    """Return the executives of the conversation and of its messages, without repeats."""
    ids = [columns.get("executive_id"), *(message["executive_id"] for message in prepared.rows)]
    return list(dict.fromkeys(executive_id for executive_id in ids if executive_id is not None))


def _input_digest(row: Conversation, scorecard_id: str | None) -> str:
    """Hash everything that an evaluation depends on; tags, for example, do not belong to it."""
    ids: list[Any] = [getattr(row, column) for column in sources.COLUMNS]
    times = [row.started_at, row.ended_at, row.duration_seconds]
    kind = [row.language, row.platform, row.status in ENDED, row.labels, scorecard_id]
    return digest_of([*ids, *times, *kind, row.messages_digest])


def _context(row: Conversation) -> Context:
    return Context(
        language=row.language,
        asynchronous=row.platform in ASYNCHRONOUS,
        platform=row.platform,
        completed=row.status in ENDED,
        closed_at=row.ended_at if row.status in ENDED else None,
    )
