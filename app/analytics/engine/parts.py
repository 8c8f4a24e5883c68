"""Parts: immutable Parquet files, each with the facts of one month, and their registry.

They are a cache: a fact that is pending, or whose part has no file, is read from the facts table.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from app.analytics.models import EvaluationFact, FactPart
from app.core.clock import as_utc


@dataclass(frozen=True, slots=True)
class Part:
    """One registered file: its month, and the first and the last `created_at` in it."""

    month: str
    path: Path
    size_bytes: int
    row_count: int
    first_at: datetime
    last_at: datetime

    @property
    def is_readable(self) -> bool:
        """Whether the file exists and has its registered size."""
        try:
            return self.path.stat().st_size == self.size_bytes
        except FileNotFoundError:
            return False


def month_of(moment: datetime) -> str:
    """Return the month, in UTC, of the part for a fact of this time."""
    return f"{as_utc(moment):%Y-%m}"


def registered(session: Session, folder: Path) -> list[Part]:
    """List the parts, the oldest month first."""
    return [
        Part(row.month, folder / row.file, row.size_bytes, row.row_count, row.first_at, row.last_at)
        for row in session.scalars(select(FactPart).order_by(FactPart.month))
    ]


def register(session: Session, month: str, part: Part | None) -> None:
    """Replace the part of a month; with None, the month has no part."""
    if part is None:
        session.execute(delete(FactPart).where(FactPart.month == month))
        return
    session.merge(
        FactPart(
            month=month,
            file=part.path.name,
            size_bytes=part.size_bytes,
            row_count=part.row_count,
            first_at=part.first_at,
            last_at=part.last_at,
        )
    )


def discard(session: Session, month: str) -> None:
    """Discard the part of a month; its facts become pending."""
    register(session, month, None)
    session.execute(
        update(EvaluationFact)
        .where(EvaluationFact.part == month)
        .values(part=None, is_pending=True),
        execution_options={"synchronize_session": False},
    )
