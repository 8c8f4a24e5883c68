"""Evaluations of campaigns that are merged or renamed."""

from sqlalchemy import case, func, or_, select, update
from sqlalchemy.orm import Session

from app.campaigns import merging
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.campaigns.models import Campaign
from app.core.clock import utc_now
from app.evaluations.enums import Status
from app.evaluations.listing import normalised
from app.evaluations.models import Evaluation, SearchText


def move_some(session: Session) -> object:
    """Move evaluations of merged campaigns, all revisions; return None if there were none.

    A conversation that was judged for both campaigns is counted once in the end.
    """
    moved = merging.move_some(Evaluation, session, updated_at=utc_now())
    if moved and moved.is_last:
        ids = [moved.into_id, *campaigns.former_ids(session, moved.into_id)]
        judged = select(func.count(Evaluation.source_id.distinct())).where(
            Evaluation.campaign_id.in_(ids), Evaluation.status == Status.COMPLETED
        )
        campaigns.set_count(session, moved.into_id, CampaignCount.EVALUATIONS, judged)
    return moved


def still_to_move(session: Session, campaign_id: str) -> int:
    """Count the evaluations of campaigns that were merged into this one which are not moved yet."""
    former = campaigns.former_ids(session, campaign_id)
    unmoved = select(func.count()).where(Evaluation.campaign_id.in_(former))
    return session.scalar(unmoved) or 0


def rename_some(session: Session) -> bool:
    """Give evaluations, and the texts that `q` searches, the present name of their campaign.

    Returns:
        whether some had another name.
    """
    # The first and the last name are read from an index: there is another one if either differs.
    own = Evaluation.campaign_id == Campaign.id
    first = select(func.min(Evaluation.campaign)).where(own).scalar_subquery()
    last = select(func.max(Evaluation.campaign)).where(own).scalar_subquery()
    differing = case((first != Campaign.name, first), else_=last)
    renamed = select(Campaign.id, Campaign.name, differing.label("former")).where(
        or_(first != Campaign.name, last != Campaign.name)
    )
    if (campaign := session.execute(renamed.limit(1)).first()) is None:
        return False
    # As in `merging.move_some`, so that an index is read.
    is_former = Evaluation.campaign.between(campaign.former, campaign.former)
    rows = (
        select(Evaluation.id)
        .where(Evaluation.campaign_id == campaign.id, is_former)
        .order_by(Evaluation.campaign)
    )
    ids = session.scalars(rows.limit(merging.BATCH).with_for_update(skip_locked=True)).all()
    # Each part of the text is a line.
    lines = func.replace(
        "\n" + SearchText.text + "\n", _line(campaign.former), _line(campaign.name)
    )
    session.execute(
        update(SearchText)
        .where(SearchText.evaluation_id.in_(ids))
        .values(text=func.substr(lines, 2, func.length(lines) - 2))
        .execution_options(synchronize_session=False)
    )
    session.execute(
        update(Evaluation)
        .where(Evaluation.id.in_(ids))
        .values(campaign=campaign.name, updated_at=utc_now())
        .execution_options(synchronize_session=False)
    )
    return bool(ids)


def _line(name: str) -> str:
    return f"\n{normalised(name)}\n"
