"""Selection of bulk re-evaluations: current evaluations that have ended and kept their text."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Subquery, func, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.visitors import ExternallyTraversible, replacement_traverse

from app.evaluations import listing
from app.evaluations.enums import ENDED, Status
from app.evaluations.models import Evaluation, StoredTranscript

# Evaluations selected at once, and rows read for them: opening them holds the write lock for some
# tens of milliseconds.
BATCH, WINDOW = 10, 1_000
_EVALUATION = Evaluation.__table__.c
_OPEN = [status for status in Status if status not in ENDED]


def count(session: Session, filters: Mapping[str, Any], *, channel: str | None) -> int:
    """Count the evaluations that match; `channel` is the one of the scorecard, if any."""
    counted = select(func.count()).select_from(Evaluation.__table__)
    return session.scalar(counted.where(*_conditions(filters, channel))) or 0


def next_ids(
    session: Session,
    filters: Mapping[str, Any],
    *,
    channel: str | None,
    after: str,
    last: str,
    not_of: str,
) -> tuple[Sequence[str], str]:
    """Return the next few ids up to `last`, and the id up to which rows were read.

    Args:
        not_of: a re-evaluation, which never opens an evaluation again that it has opened itself,
            even if the clocks of the workers differ.
    """
    between = (_EVALUATION.id > after, _EVALUATION.id <= last)
    in_order = select(_EVALUATION.id).where(*between).order_by(_EVALUATION.id)
    end = session.scalar(in_order.offset(WINDOW - 1).limit(1)) or last
    # The filters apply to a window of rows: without it, SQLite scans an index of a filter from its
    # start and sorts all matches for every few rows.
    window = select(*_EVALUATION).where(*between).order_by(_EVALUATION.id).limit(WINDOW).subquery()
    conditions = [
        *_conditions(filters, channel),
        _EVALUATION.re_evaluation_id.is_distinct_from(not_of),
    ]
    batch = session.scalars(
        select(window.c.id)
        .where(*(_within(window, condition) for condition in conditions))
        .order_by(window.c.id)
        .limit(BATCH)
    ).all()
    return batch, batch[-1] if len(batch) == BATCH else end


def newest_ids(session: Session, *, channel: str, limit: int) -> Sequence[str]:
    """Return the newest evaluations of a channel that could be judged again, the newest first."""
    matching = select(_EVALUATION.id).where(*_conditions({}, channel))
    newest_first = matching.order_by(_EVALUATION.created_at.desc(), _EVALUATION.id.desc())
    return session.scalars(newest_first.limit(limit)).all()


def _conditions(filters: Mapping[str, Any], channel: str | None) -> list[ColumnElement[bool]]:
    other = Evaluation.__table__.alias()
    under_way = select(other.c.id).where(
        other.c.source_id == _EVALUATION.source_id,
        other.c.source_type == _EVALUATION.source_type,
        other.c.status.in_(_OPEN),
    )
    stored = StoredTranscript.__table__.c
    transcript = select(stored.id).where(
        stored.id == _EVALUATION.transcript_id, stored.erased_at.is_(None)
    )
    conditions = [
        *listing.conditions(current=True, **filters),
        _EVALUATION.status.not_in([*_OPEN, Status.CANCELED]),
        transcript.exists(),
        ~under_way.exists(),
    ]
    return conditions if channel is None else [*conditions, _EVALUATION.channel == channel]


def _within(window: Subquery, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Apply a condition on the table to the rows of a window."""

    def replace(element: ExternallyTraversible, **_: Any) -> ExternallyTraversible | None:
        if isinstance(element, Column) and element.table is Evaluation.__table__:
            return window.c[element.key]
        return None

    return replacement_traverse(condition, {}, replace)
