"""Record writers: one for each kind of record, and upserts of single records over the API."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import RowMapping
from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.conversations import queries as conversation_queries
from app.conversations import service as conversations
from app.core.database.upserts import Upserted
from app.core.errors import InvalidInput, NotFound
from app.directory import service as directory
from app.directory.service import CALL_CENTERS
from app.engagements.service import ENGAGEMENTS
from app.evaluations.models import Evaluation
from app.imports.formats.records import Kind
from app.imports.loading.references import NameResolver
from app.scorecards import service as scorecards
from app.voice_calls import evaluation
from app.voice_calls import queries as voice_call_queries
from app.voice_calls import service as voice_calls

# Both raise `InvalidInput` for references to rows that do not exist.
_Writer: TypeAlias = Callable[[Session, str, dict[str, Any]], Upserted[Any]]
_EvaluationRequest: TypeAlias = Callable[..., Evaluation | None]


def put_conversation(
    session: Session,
    external_id: str,
    values: dict[str, Any],
    *,
    names: dict[str, str],
    evaluate: bool | None = None,
) -> Upserted[RowMapping]:
    """Create or update a conversation.

    Args:
        values: the columns.
        names: the names that are given in place of ids, by field.
        evaluate: None evaluates a closed or abandoned conversation, True an open one too.
    """
    values |= NameResolver(session).ids_of(names)
    stored = conversations.upsert(session, external_id, values)
    if evaluate is False:
        return stored
    conversation_id = stored.record["id"]
    conversations.request_evaluation(session, conversation_id, even_open=bool(evaluate))
    return stored._replace(record=conversation_queries.get(session, conversation_id))


def put_voice_call(
    session: Session,
    external_id: str,
    values: dict[str, Any],
    *,
    names: dict[str, str],
    evaluate: bool | None = None,
) -> Upserted[dict[str, Any]]:
    """Create or update a voice call; unless `evaluate` is False, an ended call is evaluated.

    The other arguments are those of `put_conversation`.
    """
    values |= NameResolver(session).ids_of(names)
    stored = voice_calls.upsert(session, external_id, values)
    if evaluate is False:
        return stored
    voice_call_id = stored.record["id"]
    evaluation.request_evaluation(session, voice_call_id)
    return stored._replace(record=voice_call_queries.get(session, voice_call_id))


def put_campaign(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[dict[str, Any]]:
    """Create or update a campaign."""
    ENGAGEMENTS.require(session, values.get("engagement_id"))
    require_scorecard(session, values.get("scorecard_id"))
    _require_call_centers(session, values.get("call_center_ids", ()))
    return campaigns.upsert(session, external_id, values)


def require_scorecard(session: Session, scorecard_id: str | None) -> None:
    """Check the reference to a scorecard; None is allowed."""
    if scorecard_id is None:
        return
    try:
        scorecards.get(session, scorecard_id)
    except NotFound as error:
        raise InvalidInput.field("scorecardId", error.message) from error


def _require_call_centers(session: Session, call_center_ids: Sequence[str]) -> None:
    known = CALL_CENTERS.names(session, call_center_ids) if call_center_ids else {}
    for index, call_center_id in enumerate(call_center_ids):
        if call_center_id not in known:
            raise InvalidInput.field(f"callCenterIds[{index}]", "There is no such call centre.")


WRITERS: Mapping[str, _Writer] = {
    Kind.VOICE_CALL: voice_calls.upsert,
    Kind.CONVERSATION: conversations.upsert,
    Kind.CAMPAIGN: put_campaign,
    Kind.CALL_CENTER: directory.upsert_call_center,
    Kind.EXECUTIVE: directory.upsert_executive,
}
# Each returns None where there is nothing to judge.
EVALUATION_REQUESTS: Mapping[str, _EvaluationRequest] = {
    Kind.CONVERSATION: conversations.request_evaluation,
    Kind.VOICE_CALL: evaluation.request_evaluation,
}
