"""Record writers: one for each kind of record, with the request of its evaluation."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from sqlalchemy.orm import Session

from app.conversations import service as conversations
from app.core.clock import utc_now
from app.directory import service as directory
from app.imports import campaigns
from app.imports.formats.items import Kind
from app.voice_calls import evaluation_requests
from app.voice_calls import service as voice_calls


class Written(NamedTuple):
    """A record as it is now, whether it was made, and whether it is other than before."""

    record: Any
    created: bool
    changed: bool


class Write(Protocol):
    """Brings a record to values; `InvalidInput` where they refer to what is not there."""

    def __call__(self, session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
        """Write it."""
        ...


def _campaign(session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
    begun_at = utc_now()
    record, created = campaigns.put(session, external_id, values)
    return Written(record, created, record["updated_at"] >= begun_at)


def _call_center(session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
    begun_at = utc_now()
    row, created = directory.upsert_call_center(session, external_id, values)
    return Written(row, created, row.updated_at >= begun_at)


def _executive(session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
    begun_at = utc_now()
    row, created = directory.upsert_executive(session, external_id, values)
    return Written(row, created, row.updated_at >= begun_at)


def _conversation(session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
    return Written(*conversations.upsert(session, external_id, values))


def _voice_call(session: Session, external_id: str, values: Mapping[str, Any]) -> Written:
    return Written(*voice_calls.upsert(session, external_id, values))


def _judge_conversation(session: Session, record: Any, scorecard_id: str | None) -> str | None:
    evaluation = conversations.request_evaluation(session, record["id"], scorecard_id=scorecard_id)
    return None if evaluation is None else evaluation.id


def _judge_voice_call(session: Session, record: Any, scorecard_id: str | None) -> str | None:
    evaluation = evaluation_requests.request_evaluation(
        session, record["id"], scorecard_id=scorecard_id
    )
    return None if evaluation is None else evaluation.id


WRITERS: Mapping[str, Write] = {
    Kind.VOICE_CALL: _voice_call,
    Kind.CONVERSATION: _conversation,
    Kind.CAMPAIGN: _campaign,
    Kind.CALL_CENTER: _call_center,
    Kind.EXECUTIVE: _executive,
}
# Return the id of the evaluation that was asked for, or None where there is nothing to judge.
EVALUATED: Mapping[str, Callable[[Session, Any, str | None], str | None]] = {
    Kind.CONVERSATION: _judge_conversation,
    Kind.VOICE_CALL: _judge_voice_call,
}
