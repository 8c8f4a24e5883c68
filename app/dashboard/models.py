"""Tables of the dashboard: saved views."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
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
