"""Pickers: the engagements, campaigns, people and scorecards that filters offer by name."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from app.campaigns.service import CAMPAIGNS
from app.core.database.paging import PageRequest
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.engagements.service import ENGAGEMENTS
from app.scorecards import service as scorecards

_NAMED = {table.field: table for table in (ENGAGEMENTS, CAMPAIGNS, CALL_CENTERS, EXECUTIVES)}
_SCORECARD = "scorecardId"
# Longer lists are filtered from a leaderboard or by words.
_MOST = 300


def options_of(session: Session, query: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return ids and names for each picker; what a query has chosen is always among them."""
    options = {
        name: {
            **table.names(session, [query[name]] if name in query else []),
            **table.choices(session, limit=_MOST),
        }
        for name, table in _NAMED.items()
    }
    page = scorecards.list_page(session, PageRequest(page_size=_MOST, sort="name"))
    options[_SCORECARD] = {row["id"]: row["name"] for row in page.items}
    return options


def pass_threshold(session: Session, scorecard_id: str | None) -> int | None:
    """Return the score from which evaluations pass; None where scorecards differ in it.

    Args:
        scorecard_id: only this scorecard; None for all.
    """
    page = scorecards.list_page(session, PageRequest(page_size=_MOST, sort="name"))
    thresholds = {row["pass_threshold"] for row in page.items if scorecard_id in (None, row["id"])}
    return thresholds.pop() if len(thresholds) == 1 else None
