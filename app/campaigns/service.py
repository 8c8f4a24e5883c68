"""Campaigns: upserts, lookups, counts and mean scores."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Float, cast, func, select, update
from sqlalchemy.orm import Session

from app.campaigns import queries
from app.campaigns.enums import CampaignCount
from app.campaigns.models import Campaign
from app.core.database import upserts
from app.core.database.named_tables import NamedTable

CAMPAIGNS = NamedTable(Campaign, "campaign", "campaignId")


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Create or update a campaign; the second value tells whether it was created.

    A campaign that has these values already is not changed, `updated_at` included. Counts and
    scores are kept.

    Args:
        values: `name` and other columns; their references must exist.
    """
    search_text = queries.search_text(values["name"], external_id)
    campaign, created = upserts.upsert(
        session, Campaign, "camp", external_id, {**values, "search_text": search_text}
    )
    return queries.get(session, campaign.id), created


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
    named = select(Campaign.id, Campaign.name).where(Campaign.scorecard_id == scorecard_id)
    rows = session.execute(named.order_by(Campaign.name, Campaign.id).limit(limit))
    return dict(rows.all())


def count(session: Session, campaign_id: str, kind: CampaignCount, *, by: int = 1) -> None:
    """Add to a count in SQL, so that no concurrent update is lost."""
    column = queries.COUNTERS[kind]
    _update(session, campaign_id, {column.key: column + by})


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
    """Adjust the mean score in SQL, so that no concurrent update is lost.

    Args:
        delta_sum: change of the sum of scores.
        delta_count: change of the number of scores.
    """
    total, number = Campaign.score_sum + delta_sum, Campaign.score_count + delta_count
    mean = cast(total, Float) / func.nullif(number, 0)
    _update(session, campaign_id, {"score_sum": total, "score_count": number, "mean_score": mean})


def _update(session: Session, campaign_id: str, values: dict[str, Any]) -> None:
    session.execute(
        update(Campaign)
        .where(Campaign.id == campaign_id)
        .values(values)
        .execution_options(synchronize_session=False)
    )
