"""Pickers: the engagements, campaigns, people and scorecards that filters offer by name."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.service import CAMPAIGNS
from app.core.database.paging import PageRequest
from app.core.database.rows import NamedTable
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.evaluations.enums import Channel
from app.evaluations.sources import REFERENCES
from app.scorecards import service as scorecards

# The filters of rules and plans, with their labels.
FILTERS = {"campaignId": "Campaign", "callCenterId": "Call centre", "channel": "Channel"}
# Longer lists are filtered from a leaderboard or by words.
_MOST = 300


def options_of(session: Session, query: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return ids and names for each picker; the ids that a query names are always among them."""
    options = {
        table.field: _offered(session, table, [query[table.field]] if table.field in query else [])
        for table in REFERENCES
    }
    options["scorecardId"] = {row["id"]: row["name"] for row in _scorecards(session)}
    return options


def filter_options(session: Session) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the filters of rules and plans: the label and the options of each, by its field."""
    offered = {**options_of(session, {}), "channel": Channel.labels()}
    return {name: (label, offered[name]) for name, label in FILTERS.items()}


def names_of(session: Session, query: Mapping[str, str]) -> dict[str, str]:
    names = {row["id"]: row["name"] for row in _scorecards(session)}
    for table in REFERENCES:
        if table.field in query:
            names |= _names(session, table, [query[table.field]])
    return names


def campaign_names(session: Session, ids: Collection[str]) -> dict[str, str]:
    """Return ids and names of the campaigns to choose from; these ids, also merged ones, are among them."""
    return _offered(session, CAMPAIGNS, ids)


def teams_offered(
    session: Session, ids: Mapping[str, Collection[str]]
) -> dict[str, dict[str, str]]:
    """Return ids and names of what accounts and keys can be limited to, by field; these ids are among them."""
    fields: dict[str, NamedTable[Any]] = {
        "executiveId": EXECUTIVES,
        "callCenterIds": CALL_CENTERS,
        "campaignIds": CAMPAIGNS,
    }
    return {field: _offered(session, table, ids.get(field, ())) for field, table in fields.items()}


def pass_threshold(session: Session, scorecard_id: str | None) -> int | None:
    """Return the score from which evaluations pass; None where scorecards differ in it.

    Args:
        scorecard_id: only this scorecard; None for all.
    """
    rows = (row for row in _scorecards(session) if scorecard_id in (None, row["id"]))
    thresholds = {row["pass_threshold"] for row in rows}
    return thresholds.pop() if len(thresholds) == 1 else None


def _offered(session: Session, table: NamedTable[Any], ids: Collection[str]) -> dict[str, str]:
    return {**_names(session, table, ids), **table.choices(session, limit=_MOST)}


def _names(session: Session, table: NamedTable[Any], ids: Collection[str]) -> dict[str, str]:
    merged = campaigns.merged_names(session, ids) if table is CAMPAIGNS else {}
    return merged | table.names(session, ids)


def _scorecards(session: Session) -> Sequence[Mapping[str, Any]]:
    request = PageRequest(page_size=_MOST, sort="name")
    return scorecards.list_page(session, request).items
