"""Pickers: the engagements, campaigns, people and scorecards that filters offer by name."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns.service import CAMPAIGNS
from app.core.database.named_tables import NamedTable
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
        name: _offered(session, table, [query[name]] if name in query else [])
        for name, table in _NAMED.items()
    }
    page = scorecards.list_page(session, PageRequest(page_size=_MOST, sort="name"))
    options[_SCORECARD] = {row["id"]: row["name"] for row in page.items}
    return options


def campaign_names(session: Session, chosen: Collection[str]) -> dict[str, str]:
    """Return ids and names of the campaigns to choose from; those chosen are always among them."""
    return _offered(session, CAMPAIGNS, chosen)


def pass_threshold(session: Session, scorecard_id: str | None) -> int | None:
    """Return the score from which evaluations pass; None where scorecards differ in it.

    Args:
        scorecard_id: only this scorecard; None for all.
    """
    page = scorecards.list_page(session, PageRequest(page_size=_MOST, sort="name"))
    thresholds = {row["pass_threshold"] for row in page.items if scorecard_id in (None, row["id"])}
    return thresholds.pop() if len(thresholds) == 1 else None


def _offered(session: Session, table: NamedTable[Any], chosen: Collection[str]) -> dict[str, str]:
    return {**table.names(session, chosen), **table.choices(session, limit=_MOST)}
