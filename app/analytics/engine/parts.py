"""Parts: immutable Parquet files, each with the facts of one month, and their registry.

They are a cache. A fact that is pending, or whose part has no file, is read from the facts table.
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
    """One registered file: of which month, and the first and the last `created_at` in it."""

    month: str
    path: Path
    size_bytes: int
    row_count: int
    first_at: datetime
    last_at: datetime

    @property
    def is_readable(self) -> bool:
        """Whether the file is there, and as long as it was when it was registered."""
        try:
            return self.path.stat().st_size == self.size_bytes
        except FileNotFoundError:
            return False


def month_of(moment: datetime) -> str:
    """Return the month, in UTC, whose part a fact of this moment belongs to."""
    return f"{as_utc(moment):%Y-%m}"


def registered(session: Session, folder: Path) -> list[Part]:
    """List the parts, the oldest month first."""
    return [
        Part(row.month, folder / row.file, row.size_bytes, row.row_count, row.first_at, row.last_at)
        for row in session.scalars(select(FactPart).order_by(FactPart.month))
    ]


def register(session: Session, month: str, part: Part | None) -> None:
    """Put a part in place of the former one of its month; with None the month has none."""
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
    """Drop the part of a month; its facts are pending from now on."""
    register(session, month, None)
    session.execute(
        update(EvaluationFact)
        .where(EvaluationFact.part == month)
        .values(part=None, is_pending=True),
        execution_options={"synchronize_session": False},
    )
