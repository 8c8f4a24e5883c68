"""Tables of the dashboard: saved views and drafts of scorecards."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class SavedView(Table):
    """The filters of the list of evaluations under a name, for one person or for all.

    `query` is the query of the list's address, without its page.
    """

    __tablename__ = "saved_views"
    __table_args__ = (Index("ix_saved_views_user", "user_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    query: Mapped[str]
    is_shared: Mapped[bool]
    is_pinned: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


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
