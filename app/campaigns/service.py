"""What is done with campaigns."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Float, cast, func, select, update
from sqlalchemy.orm import Session

from app.campaigns import records
from app.campaigns.models import Campaign
from app.campaigns.vocabulary import Counted
from app.core.database import upserts
from app.core.errors import InvalidInput


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """Bring a campaign to these values, and tell whether it had to be made.

    A campaign that has them already stays as it is, `updated_at` included; counts and scores are
    never touched.

    Args:
        values: `name`, and any columns that the caller may give; what it refers to is there.
    """
    search_text = records.search_text(values["name"], external_id)
    campaign, created = upserts.upsert(
        session, Campaign, "camp", external_id, {**values, "search_text": search_text}
    )
    return records.get(session, campaign.id), created


def require(session: Session, campaign_id: str | None) -> None:
    """Refuse a reference to a campaign that is not there.

    Raises:
        InvalidInput: naming the field `campaignId`.
    """
    if campaign_id is not None and name_of(session, campaign_id) is None:
        raise InvalidInput.field("campaignId", "There is no such campaign.")


def name_of(session: Session, campaign_id: str | None) -> str | None:
    """Return the name of a campaign, or None where there is none."""
    if campaign_id is None:
        return None
    return session.scalar(select(Campaign.name).where(Campaign.id == campaign_id))


def scorecard_of(session: Session, campaign_id: str) -> str | None:
    """Return the id of the scorecard that a campaign asks for, if any."""
    return session.scalar(select(Campaign.scorecard_id).where(Campaign.id == campaign_id))


def find_by_name(session: Session, name: str) -> Campaign | None:
    """Return the campaign of this name, the oldest where several have it."""
    return session.scalar(
        select(Campaign).where(Campaign.name == name).order_by(Campaign.id).limit(1)
    )


def count(session: Session, campaign_id: str, kind: str, *, by: int = 1) -> None:
    """Add to a count, in SQL so that two workers cannot lose one.

    Args:
        kind: one of `vocabulary.Counted`.
        by: -1 where something leaves the campaign.
    """
    column = records.COUNTERS[Counted(kind)]
    _update(session, campaign_id, {column.key: column + by})


def moved(session: Session, before: str | None, after: str | None, kind: str) -> None:
    """Keep the counts of two campaigns when something goes from one to the other."""
    if before == after:
        return
    if before is not None:
        count(session, before, kind, by=-1)
    if after is not None:
        count(session, after, kind)


def note_score(session: Session, campaign_id: str, delta_sum: int, delta_count: int) -> None:
    """Move the mean score, in SQL as above.

    Args:
        delta_sum: a new score, or how far a score has moved, or minus one that no longer counts.
        delta_count: how many more scores there are: 1, 0 or -1 in these cases.
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
