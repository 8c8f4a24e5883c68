"""Tables of custom scorecards and their drafts; the defaults are files of the package."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class StoredScorecard(Table):
    """One scorecard; `version` is the version that new evaluations use.

    `folded_name` is the name without its case: no two scorecards may have the same one.
    """

    __tablename__ = "scorecards"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    folded_name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None]
    channel: Mapped[str] = mapped_column(index=True)
    version: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ScorecardVersion(Table):
    """One version; it never changes, and `document` is complete.

    The columns before it repeat the fields that lists show: a page reads no document.
    """

    __tablename__ = "scorecard_versions"

    scorecard_id: Mapped[str] = mapped_column(ForeignKey("scorecards.id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]
    languages: Mapped[list[str]] = mapped_column(JSON)
    pass_threshold: Mapped[int]
    criteria_count: Mapped[int]
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ChannelScorecard(Table):
    """The custom scorecard that judges a channel by default; without a row, the one that ships does."""

    __tablename__ = "channel_scorecards"

    channel: Mapped[str] = mapped_column(primary_key=True)
    scorecard_id: Mapped[str] = mapped_column(ForeignKey("scorecards.id"))


class ScorecardRelease(Table):
    """Time at which agents see what a scorecard has judged, by a rule of `enums`; without a row, at once.

    `days` is set for the rule `after_days` alone. The scorecards that ship have rows, too.
    """

    __tablename__ = "scorecard_releases"

    scorecard_id: Mapped[str] = mapped_column(primary_key=True)
    rule: Mapped[str]
    days: Mapped[int | None]


class ScorecardDraft(Table):
    """A scorecard that people edit before they publish it; everybody edits the same draft.

    `scorecard_id` and `base_version` name what it changes; a new scorecard has neither. `version` counts the
    changes of the draft itself. `document` is what was typed, mistakes included. `trial_id` is the last trial,
    `trial_version` the version of the draft that was tried.
    """

    __tablename__ = "scorecard_drafts"

    id: Mapped[str] = mapped_column(primary_key=True)
    scorecard_id: Mapped[str | None] = mapped_column(unique=True)
    base_version: Mapped[int | None]
    channel: Mapped[str]
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    version: Mapped[int] = mapped_column(default=1)
    trial_id: Mapped[str | None]
    trial_version: Mapped[int | None]
    updated_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
