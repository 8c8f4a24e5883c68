"""References of a source: existing engagement, campaign, call centre, agent and scorecard."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.errors import InvalidInput
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements.service import ENGAGEMENTS
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard

COLUMNS = ("engagement_id", "campaign_id", "call_center_id", "executive_id")


def require(session: Session, fields: Mapping[str, Any]) -> None:
    """Raise for ids that do not exist.

    Raises:
        InvalidInput: naming the field.
    """
    ENGAGEMENTS.require(session, fields.get("engagement_id"))
    CAMPAIGNS.require(session, fields.get("campaign_id"))
    CALL_CENTERS.require(session, fields.get("call_center_id"))
    EXECUTIVES.require(session, fields.get("executive_id"))


def named(session: Session, source: Any) -> dict[str, Any]:
    """Return the referenced ids of a source and their current names, for its evaluation."""
    ids: dict[str, str | None] = {column: getattr(source, column) for column in COLUMNS}
    call_center_id, executive_id = source.call_center_id, source.executive_id
    centers = CALL_CENTERS.names(session, [call_center_id]) if call_center_id else {}
    people = EXECUTIVES.names(session, [executive_id]) if executive_id else {}
    return {
        **ids,
        "campaign": campaigns.name_of(session, source.campaign_id),
        "call_center": centers.get(call_center_id),
        "executive": people.get(executive_id),
    }


def scorecard_for(
    session: Session, *, scorecard_id: str | None, campaign_id: str | None, channel: str
) -> ResolvedScorecard:
    """Return the requested scorecard, else the campaign's, else the channel's default.

    A campaign's scorecard is for one channel; its contacts over others get their defaults.

    Raises:
        InvalidInput: the scorecard does not exist or is for another channel.
    """
    if scorecard_id is None and campaign_id is not None:
        try:
            own = campaigns.scorecard_of(session, campaign_id)
            return scorecards.resolve(session, scorecard_id=own, channel=channel)
        except InvalidInput:
            return scorecards.current_default(channel)
    return scorecards.resolve(session, scorecard_id=scorecard_id, channel=channel)
