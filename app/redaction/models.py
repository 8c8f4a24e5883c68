"""Table of the originals of masked texts."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class RawText(Table):
    """The encrypted originals of one conversation, recording or call; none if nothing was masked.

    `source_id` is the conversation, recording or call; `key_id` is the id of the master key.
    """

    __tablename__ = "raw_texts"
    __table_args__ = (
        Index("ix_raw_texts_source", "source_id"),
        Index("ix_raw_texts_created", "created_at", "id"),
        Index("ix_raw_texts_key", "key_id", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    source_id: Mapped[str]
    sealed: Mapped[str]
    key_id: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
