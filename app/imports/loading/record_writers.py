"""Record writers: one for each kind of record, with the request of its evaluation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.conversations import service as conversations
from app.core.clock import utc_now
from app.core.errors import InvalidInput, NotFound
from app.directory import service as directory
from app.directory.service import CALL_CENTERS
from app.engagements.service import ENGAGEMENTS
from app.imports.formats.records import Kind
from app.scorecards import service as scorecards
from app.voice_calls import evaluation_requests
from app.voice_calls import service as voice_calls


class WrittenRecord(NamedTuple):
    """A stored record, whether it was created, and whether its values changed."""

    record: Any
    created: bool
    changed: bool


# Both raise `InvalidInput` for references to rows that do not exist.
Writer = Callable[[Session, str, dict[str, Any]], WrittenRecord]
EvaluationRequest = Callable[[Session, Any, str | None], str | None]


def put_campaign(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Create or update a campaign; the second value tells whether it was created.

    Raises:
        InvalidInput: a referenced row does not exist.
    """
    ENGAGEMENTS.require(session, values.get("engagement_id"))
    require_scorecard(session, values.get("scorecard_id"))
    _require_call_centers(session, values.get("call_center_ids", ()))
    return campaigns.upsert(session, external_id, values)


def require_scorecard(session: Session, scorecard_id: str | None) -> None:
    """Check the reference to a scorecard; None is allowed.

    Raises:
        InvalidInput: the scorecard does not exist.
    """
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


def _write_campaign(session: Session, external_id: str, values: dict[str, Any]) -> WrittenRecord:
    started_at = utc_now()
    record, created = put_campaign(session, external_id, values)
    return WrittenRecord(record, created, record["updated_at"] >= started_at)


def _write_call_center(session: Session, external_id: str, values: dict[str, Any]) -> WrittenRecord:
    started_at = utc_now()
    row, created = directory.upsert_call_center(session, external_id, values)
    return WrittenRecord(row, created, row.updated_at >= started_at)


def _write_executive(session: Session, external_id: str, values: dict[str, Any]) -> WrittenRecord:
    started_at = utc_now()
    row, created = directory.upsert_executive(session, external_id, values)
    return WrittenRecord(row, created, row.updated_at >= started_at)


def _write_conversation(
    session: Session, external_id: str, values: dict[str, Any]
) -> WrittenRecord:
    return WrittenRecord(*conversations.upsert(session, external_id, values))


def _write_voice_call(session: Session, external_id: str, values: dict[str, Any]) -> WrittenRecord:
    return WrittenRecord(*voice_calls.upsert(session, external_id, values))


def _evaluate_conversation(session: Session, record: Any, scorecard_id: str | None) -> str | None:
    evaluation = conversations.request_evaluation(session, record["id"], scorecard_id=scorecard_id)
    return None if evaluation is None else evaluation.id


def _evaluate_voice_call(session: Session, record: Any, scorecard_id: str | None) -> str | None:
    evaluation = evaluation_requests.request_evaluation(
        session, record["id"], scorecard_id=scorecard_id
    )
    return None if evaluation is None else evaluation.id


WRITERS: Mapping[str, Writer] = {
    Kind.VOICE_CALL: _write_voice_call,
    Kind.CONVERSATION: _write_conversation,
    Kind.CAMPAIGN: _write_campaign,
    Kind.CALL_CENTER: _write_call_center,
    Kind.EXECUTIVE: _write_executive,
}
# Each returns the id of the requested evaluation, or None where there is nothing to judge.
EVALUATION_REQUESTS: Mapping[str, EvaluationRequest] = {
    Kind.CONVERSATION: _evaluate_conversation,
    Kind.VOICE_CALL: _evaluate_voice_call,
}
