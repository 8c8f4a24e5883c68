"""Table of receipts: what agents have said about their evaluations."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class EvaluationReceipt(Table):
    """One thing that an agent did with a revision: saw, acknowledged or commented on it.

    Rows are added and never changed, except for the erasure of comments. `user_id` is the account, or
    the API key that acted for the agent.
    """

    __tablename__ = "evaluation_receipts"
    __table_args__ = (Index("ix_evaluation_receipts_evaluation", "evaluation_id", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    evaluation_id: Mapped[str] = mapped_column(ForeignKey("evaluations.id"))
    revision: Mapped[int]
    user_id: Mapped[str]
    action: Mapped[str]
    comment: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
