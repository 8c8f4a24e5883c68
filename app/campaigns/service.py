"""Campaigns: upserts, lookups, counts and mean scores."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.campaigns import queries
from app.campaigns.enums import CampaignCount
from app.campaigns.models import Campaign
from app.core.database import upserts
from app.core.database.counters import add_at_commit
from app.core.database.rows import NamedTable
from app.core.database.upserts import Upserted

CAMPAIGNS = NamedTable(Campaign, "campaign", "campaignId")


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[dict[str, Any]]:
    """Create or update a campaign.

    A campaign that has these values already is not changed, `updated_at` included. Counts and
    scores are kept.

    Args:
        values: `name` and other columns; their references must exist.
    """
    search_text = queries.search_text(values["name"], external_id)
    stored = upserts.upsert(
        session, Campaign, "camp", external_id, {**values, "search_text": search_text}
    )
    return Upserted(queries.get(session, stored.record.id), stored.created, stored.changed)


def name_of(session: Session, campaign_id: str | None) -> str | None:
    """Return the name of a campaign, or None if there is none."""
    if campaign_id is None:
        return None
    return session.scalar(select(Campaign.name).where(Campaign.id == campaign_id))


def scorecard_of(session: Session, campaign_id: str) -> str | None:
    """Return the id of the campaign's scorecard, if it has one."""
    return session.scalar(select(Campaign.scorecard_id).where(Campaign.id == campaign_id))


def names_with_scorecard(session: Session, scorecard_id: str, *, limit: int) -> dict[str, str]:
    """Return the names of the campaigns whose contacts a scorecard judges, by id."""
    rows = session.execute(
        select(Campaign.id, Campaign.name)
        .where(Campaign.scorecard_id == scorecard_id)
        .order_by(Campaign.name, Campaign.id)
        .limit(limit)
    )
    return dict(rows.all())


def count(session: Session, campaign_id: str, kind: CampaignCount, *, by: int = 1) -> None:
    """Add to a count when the transaction commits."""
    add_at_commit(session, Campaign, campaign_id, **{queries.COUNTERS[kind].key: by})


def count_move(
    session: Session, before: str | None, after: str | None, kind: CampaignCount
) -> None:
    """Adjust the counts of two campaigns when a record moves from one to the other."""
    if before == after:
        return
    if before is not None:
        count(session, before, kind, by=-1)
    if after is not None:
        count(session, after, kind)


def note_score(session: Session, campaign_id: str, delta_sum: int, delta_count: int) -> None:
    """Adjust the mean score when the transaction commits.

    Args:
        delta_sum: change of the sum of scores.
        delta_count: change of the number of scores.
    """
    add_at_commit(session, Campaign, campaign_id, score_sum=delta_sum, score_count=delta_count)
