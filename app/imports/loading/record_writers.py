"""Record writers: one for each kind of record, with the request of its evaluation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.conversations import service as conversations
from app.core.database.upserts import Upserted
from app.core.errors import InvalidInput, NotFound
from app.directory import service as directory
from app.directory.service import CALL_CENTERS
from app.engagements.service import ENGAGEMENTS
from app.evaluations.models import Evaluation
from app.imports.formats.records import Kind
from app.scorecards import service as scorecards
from app.voice_calls import evaluation_requests
from app.voice_calls import service as voice_calls

# Both raise `InvalidInput` for references to rows that do not exist.
Writer: TypeAlias = Callable[[Session, str, dict[str, Any]], Upserted[Any]]
EvaluationRequest: TypeAlias = Callable[..., Evaluation | None]


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


WRITERS: Mapping[str, Writer] = {
    Kind.VOICE_CALL: voice_calls.upsert,
    Kind.CONVERSATION: conversations.upsert,
    Kind.CAMPAIGN: put_campaign,
    Kind.CALL_CENTER: directory.upsert_call_center,
    Kind.EXECUTIVE: directory.upsert_executive,
}
# Each returns None where there is nothing to judge.
EVALUATION_REQUESTS: Mapping[str, EvaluationRequest] = {
    Kind.CONVERSATION: conversations.request_evaluation,
    Kind.VOICE_CALL: evaluation_requests.request_evaluation,
}
