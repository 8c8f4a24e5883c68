"""Work on campaigns outside of requests: what was written while a merge went on."""

from datetime import timedelta

from sqlalchemy import select

from app.campaigns import merging
from app.campaigns.models import MergedCampaign
from app.core.clock import utc_now
from app.core.hooks import CampaignMerge
from app.core.runtime import Runtime

# No transaction that began before a merge is still open after this.
_STRAGGLERS = timedelta(hours=1)


def follow_merges(runtime: Runtime) -> None:
    """Move what was written under the id of a merged campaign while it was merged."""
    recent = select(MergedCampaign.id, MergedCampaign.into_id).where(
        MergedCampaign.merged_at > utc_now() - _STRAGGLERS
    )
    with runtime.db.reading() as session:
        merges = [CampaignMerge(*row) for row in session.execute(recent)]
    for merge in merges:
        with runtime.db.writing() as session:
            merging.follow(session, merge)
