"""Campaigns on their way in."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.core.errors import InvalidInput, NotFound
from app.directory.service import CALL_CENTERS
from app.engagements.service import ENGAGEMENTS
from app.scorecards import service as scorecards


def put(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Bring a campaign to these values, and tell whether it had to be made.

    Raises:
        InvalidInput: it refers to something that is not there.
    """
    ENGAGEMENTS.require(session, values.get("engagement_id"))
    _require_scorecard(session, values.get("scorecard_id"))
    _require_call_centers(session, values.get("call_center_ids", ()))
    return campaigns.upsert(session, external_id, values)


def _require_scorecard(session: Session, scorecard_id: str | None) -> None:
    if scorecard_id is None:
        return
    try:
        scorecards.get(session, scorecard_id)
    except NotFound as error:
        raise InvalidInput.field("scorecardId", "There is no such scorecard.") from error


def _require_call_centers(session: Session, call_center_ids: Sequence[str]) -> None:
    known = CALL_CENTERS.names(session, call_center_ids) if call_center_ids else {}
    for index, call_center_id in enumerate(call_center_ids):
        if call_center_id not in known:
            raise InvalidInput.field(f"callCenterIds[{index}]", "There is no such call centre.")
