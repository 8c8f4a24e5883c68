"""The table of what texts were before they were masked."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from app.core.database.session import Table, UtcDateTime


class RawText(Table):
    """The unmasked texts of one conversation, recording or call, sealed under a master key.

    Only of those in which something was masked. `source_id` is whose they are; `key_id` names the
    master key, so that those of an old one are found.
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
