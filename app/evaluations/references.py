"""References of a source: existing engagement, campaign, call centre, agent and scorecard."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.database.rows import NamedTable
from app.core.errors import InvalidInput
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements.service import ENGAGEMENTS
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard

_NAMED: Mapping[str, NamedTable[Any]] = {
    "campaign_id": CAMPAIGNS,
    "call_center_id": CALL_CENTERS,
    "executive_id": EXECUTIVES,
}
COLUMNS = ("engagement_id", "campaign_id", "call_center_id", "executive_id")


def require(session: Session, *sources: Mapping[str, Any]) -> None:
    """Raise for ids that do not exist."""
    for column, table in {"engagement_id": ENGAGEMENTS, **_NAMED}.items():
        ids = {fields.get(column) for fields in sources}
        table.require_all(session, {row_id for row_id in ids if row_id is not None})


def named(session: Session, source: Any) -> dict[str, Any]:
    """Return the referenced ids of a source and their current names, for its evaluation."""
    return named_all(session, [source])[0]


def named_all(session: Session, sources: Sequence[Any]) -> list[dict[str, Any]]:
    """Return for each source what `named` returns."""
    names = {
        column: table.names(session, ids)
        for column, table in _NAMED.items()
        if (ids := {value for source in sources if (value := getattr(source, column))})
    }
    return [
        {
            **{column: getattr(source, column) for column in COLUMNS},
            **{
                column.removesuffix("_id"): names.get(column, {}).get(getattr(source, column))
                for column in _NAMED
            },
        }
        for source in sources
    ]


def scorecard_for(
    session: Session, *, scorecard_id: str | None, campaign_id: str | None, channel: str
) -> ResolvedScorecard:
    """Return the requested scorecard, else the campaign's, else the channel's default.

    A campaign's scorecard is for one channel; its contacts over others get their defaults.
    """
    if scorecard_id is None and campaign_id is not None:
        try:
            own = campaigns.scorecard_of(session, campaign_id)
            return scorecards.resolve(session, scorecard_id=own, channel=channel)
        except InvalidInput:
            return scorecards.current_default(channel)
    return scorecards.resolve(session, scorecard_id=scorecard_id, channel=channel)
