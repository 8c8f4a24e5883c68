"""Table of campaigns."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, cast, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.campaigns.enums import CampaignStatus, CampaignType
from app.core.database.counters import Counted
from app.core.database.session import Table, UtcDateTime
from app.core.database.upserts import ExternallyKeyed

COUNTERS = (
    *("conversation_count", "voice_call_count", "audio_file_count", "evaluation_count"),
    *("score_sum", "score_count"),
)


def _no_targets() -> dict[str, Any]:
    return {"score": None, "evaluations": None, "pass_rate": None}


class Campaign(ExternallyKeyed, Counted):
    """A campaign with its counts and scores.

    `scorecard_id` is what another system has named; `scorecard_ids` are the scorecards that were chosen here, by
    channel, where None is the default of the channel. What was chosen here comes first.
    `mean_score` repeats the quotient of `score_sum` and `score_count`, so that an index sorts by it.
    """

    __tablename__ = "campaigns"
    __table_args__ = (
        Index("ix_campaigns_created", "created_at", "id"),
        Index("ix_campaigns_status", "status", "created_at", "id"),
        Index("ix_campaigns_type", "type", "created_at", "id"),
        Index("ix_campaigns_engagement", "engagement_id", "created_at", "id"),
        Index("ix_campaigns_name", "name", "id"),
        Index("ix_campaigns_starts", "starts_at", "id"),
        Index("ix_campaigns_mean_score", "mean_score", "id"),
    )

    name: Mapped[str]
    description: Mapped[str | None]
    type: Mapped[str] = mapped_column(default=CampaignType.OTHER)
    channels: Mapped[list[str]] = mapped_column(JSON, default=list)
    status: Mapped[str] = mapped_column(default=CampaignStatus.ACTIVE)
    engagement_id: Mapped[str | None] = mapped_column(ForeignKey("engagements.id"))
    call_center_ids: Mapped[list[str]] = mapped_column(JSON, default=list)
    scorecard_id: Mapped[str | None]
    scorecard_ids: Mapped[dict[str, str | None] | None] = mapped_column(JSON)
    language: Mapped[str | None]
    starts_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    ends_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    targets: Mapped[dict[str, Any]] = mapped_column(JSON, default=_no_targets)
    labels: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    search_text: Mapped[str]
    conversation_count: Mapped[int] = mapped_column(default=0)
    voice_call_count: Mapped[int] = mapped_column(default=0)
    audio_file_count: Mapped[int] = mapped_column(default=0)
    evaluation_count: Mapped[int] = mapped_column(default=0)
    score_sum: Mapped[int] = mapped_column(BigInteger, default=0)
    score_count: Mapped[int] = mapped_column(default=0)
    mean_score: Mapped[float | None]

    @classmethod
    def add(cls, session: Session, row_id: str, amounts: Mapping[str, int]) -> bool:
        """Add to the counters of a campaign now, or of the one that it was merged into meanwhile."""
        if super().add(session, row_id, amounts):
            return True
        merged_into = select(MergedCampaign.into_id).where(MergedCampaign.id == row_id)
        into_id = session.scalar(merged_into)
        return into_id is not None and cls.add(session, into_id, amounts)

    @classmethod
    def raised(cls, amounts: Mapping[str, int]) -> dict[str, Any]:
        """Return new values by column; the mean score follows its sum and count."""
        values = super().raised(amounts)
        if "score_count" in values:
            count = func.nullif(values["score_count"], 0)
            values["mean_score"] = cast(values["score_sum"], Float) / count
        return values


class MergedCampaign(Table):
    """A campaign that was merged into another: what comes in under its ids or its name is of that one."""

    __tablename__ = "merged_campaigns"

    id: Mapped[str] = mapped_column(primary_key=True)
    external_id: Mapped[str | None] = mapped_column(unique=True)
    name: Mapped[str] = mapped_column(index=True)
    into_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), index=True)
    merged_at: Mapped[datetime] = mapped_column(UtcDateTime)
