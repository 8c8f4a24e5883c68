"""Evaluations of campaigns that are merged or renamed."""

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.campaigns.merging import move_rows
from app.core.clock import utc_now
from app.core.hooks import CampaignMerge
from app.evaluations.enums import Status
from app.evaluations.listing import normalised
from app.evaluations.models import Evaluation, SearchText

# So many evaluations are renamed in a tenth of a second or two.
_AT_ONCE = 1_000


def follow_merge(session: Session, merge: CampaignMerge) -> None:
    """Move the evaluations of a merged campaign, all revisions."""
    move_rows(Evaluation, session, merge, updated_at=utc_now())
    while rename_some(session, merge.into_id):
        pass


def counts(session: Session, campaign_id: str) -> dict[str, int]:
    """Count what the counters of a campaign say of its evaluations."""
    is_of_campaign = Evaluation.campaign_id == campaign_id
    number = select(func.count(Evaluation.source_id.distinct())).where(
        is_of_campaign, Evaluation.status == Status.COMPLETED
    )
    scores, scored = session.execute(
        select(func.sum(Evaluation.score), func.count()).where(
            is_of_campaign, Evaluation.is_current, Evaluation.passed.is_not(None)
        )
    ).one()
    return {
        "evaluation_count": session.scalar(number) or 0,
        "score_sum": scores or 0,
        "score_count": scored,
    }


def rename_some(session: Session, campaign_id: str) -> bool:
    """Give evaluations, and the texts that `q` searches, the present name of their campaign.

    They are only as many as other writes can wait for: a job calls this until none is left.

    Returns:
        whether some had another name.
    """
    name = campaigns.name_of(session, campaign_id) or ""
    # One that was opened while its campaign was merged has no name.
    renamed = session.execute(
        select(Evaluation.id, Evaluation.campaign)
        .where(Evaluation.campaign_id == campaign_id, Evaluation.campaign.is_distinct_from(name))
        .limit(_AT_ONCE)
    ).all()
    for former in {row.campaign for row in renamed}:
        ids = [row.id for row in renamed if row.campaign == former]
        # Each part of the text is a line.
        lines = func.replace("\n" + SearchText.text + "\n", _line(former), _line(name))
        session.execute(
            update(SearchText)
            .where(SearchText.evaluation_id.in_(ids))
            .values(text=func.substr(lines, 2, func.length(lines) - 2))
            .execution_options(synchronize_session=False)
        )
        session.execute(
            update(Evaluation)
            .where(Evaluation.id.in_(ids))
            .values(campaign=name, updated_at=utc_now())
            .execution_options(synchronize_session=False)
        )
    return bool(renamed)


def _line(name: str | None) -> str:
    return f"\n{normalised(name or '')}\n"
