"""Bulk re-evaluations: requested with filters, opened a few at a time, and shown.

The row with its cursor is the truth. Each batch is opened in the transaction that moves the cursor,
so that a worker killed at any moment leaves nothing out and does nothing twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Subquery, func, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.visitors import ExternallyTraversible, replacement_traverse

from app.core.clock import iso_utc, utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict
from app.core.ids import new_id
from app.core.jobs.leases import OPEN_STATES, TRIES_AFTER_FAILURE, JobState
from app.core.principal import TeamScope, current_teams, limited_to
from app.evaluations import listing
from app.evaluations.enums import ENDED, Status
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, ReEvaluation, StoredTranscript
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard

MOST_OPEN = 20
_NOUN = "re-evaluation"
_SORTABLE = {"created_at": ReEvaluation.created_at}
_MOMENTS = ("start", "end")
# Evaluations selected at once, and rows read for them: opening them holds the write lock for some
# tens of milliseconds.
BATCH, WINDOW = 10, 1_000
_EVALUATION = Evaluation.__table__.c
_OPEN = [status for status in Status if status not in ENDED]


def count(
    session: Session,
    *,
    filters: Mapping[str, Any],
    scorecard_id: str | None = None,
    scorecard_version: int | None = None,
) -> int:
    scorecard = _scorecard(session, scorecard_id, scorecard_version)
    matching = select(func.count()).select_from(Evaluation.__table__)
    return session.scalar(matching.where(*_conditions(filters, _channel(scorecard)))) or 0


def start(
    session: Session,
    *,
    selected: int,
    filters: Mapping[str, Any],
    scorecard_id: str | None = None,
    scorecard_version: int | None = None,
) -> dict[str, Any]:
    """Store the request; workers run it when nothing else is due.

    Args:
        selected: the result of `count`, which takes seconds and so needs its own transaction.
        filters: those of `listing.list_page`; only current evaluations that have ended and have
            a transcript are selected, and with a scorecard only those of its channel.

    Raises:
        InvalidInput: there is no such scorecard or version.
        Conflict: too many re-evaluations wait.
    """
    scorecard = _scorecard(session, scorecard_id, scorecard_version)
    _require_room(session)
    row = ReEvaluation(
        id=new_id("reev"),
        filters=_stored(filters),
        channel=_channel(scorecard),
        scorecard_id=scorecard.id if scorecard else None,
        scorecard_version=scorecard.version if scorecard else None,
        selected=selected,
        last_id=session.scalar(select(func.max(Evaluation.id))) or "",
        teams=teams.as_text() if (teams := current_teams()) else None,
        created_at=utc_now(),
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, judgements.BELL)
    return show(session, row.id)


def retry(session: Session, re_evaluation_id: str) -> dict[str, Any]:
    """Continue a failed re-evaluation with the evaluations that it has not opened yet."""
    row = find_row(session, ReEvaluation, re_evaluation_id, _NOUN, for_update=True)
    if row.state != JobState.FAILED:
        raise Conflict("Only a failed re-evaluation can be tried again.")
    _require_room(session)
    row.state, row.failures, row.error = JobState.QUEUED, 0, None
    session.flush()
    ring_after_commit(session, judgements.BELL)
    return show(session, row.id)


def show(session: Session, re_evaluation_id: str) -> dict[str, Any]:
    row = find_row(session, ReEvaluation, re_evaluation_id, _NOUN)
    grouped = (
        select(Evaluation.status, func.count())
        .where(Evaluation.re_evaluation_id == row.id)
        .group_by(Evaluation.status)
    )
    by_status = dict(session.execute(grouped).all())
    opened = sum(by_status.values())
    ended = {status.value: by_status.get(status, 0) for status in ENDED}
    waiting = opened - sum(ended.values())
    all_opened = row.state not in OPEN_STATES
    # Evaluations that were running when they were counted may have ended since.
    selected = max(row.selected, opened)
    to_open = selected - opened
    return {
        "id": row.id,
        "status": _status(row, waiting, opened),
        "count": selected,
        "scorecard_id": row.scorecard_id,
        "scorecard_version": row.scorecard_version,
        "counts": {
            "selected": selected,
            "queued": waiting if all_opened else to_open + waiting,
            "skipped": to_open if all_opened else 0,
            **ended,
        },
        "error": row.error,
        "created_at": row.created_at,
    }


def list_page(
    session: Session, request: PageRequest, *, status: Sequence[str] = ()
) -> Page[dict[str, Any]]:
    """Return a page of bulk re-evaluations, newest first by default, in these states or all."""
    statement = select(ReEvaluation.id)
    if status:
        statement = statement.where(ReEvaluation.state.in_(status))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=ReEvaluation.id)
    return replace(page, items=[show(session, row["id"]) for row in page.items])


def next_id(session: Session) -> str | None:
    """Return the oldest re-evaluation with evaluations left to open."""
    waiting = select(ReEvaluation.id).where(ReEvaluation.state.in_(OPEN_STATES))
    return session.scalar(waiting.order_by(ReEvaluation.created_at, ReEvaluation.id).limit(1))


def open_next(session: Session, re_evaluation_id: str) -> bool:
    """Open the next few evaluations and move the cursor; False when another worker does."""
    row = _locked(session, re_evaluation_id)
    if row is None:
        return False
    with limited_to(TeamScope.from_text(row.teams)):
        batch, reached = _next(session, row)
    known: dict[str, ResolvedScorecard] = {}
    for former in batch:
        scorecard_id = row.scorecard_id or former.scorecard_id
        if scorecard_id not in known:
            known[scorecard_id] = scorecards.resolve(
                session,
                scorecard_id=scorecard_id,
                version=row.scorecard_version,
                channel=former.channel,
            )
        judgements.open_again(session, former, known[scorecard_id], re_evaluation_id=row.id)
    row.failures = 0
    row.cursor = reached
    row.state = JobState.SUCCEEDED if reached == row.last_id else JobState.RUNNING
    return True


def note_failure(session: Session, re_evaluation_id: str) -> None:
    """Count a batch that could not be opened; after a few the re-evaluation fails."""
    row = _locked(session, re_evaluation_id)
    if row is None:
        return
    row.failures += 1
    if row.failures >= TRIES_AFTER_FAILURE:
        message = "The re-evaluation failed because of an internal error; try it again."
        row.state, row.error = JobState.FAILED, {"code": "INTERNAL", "message": message}


def newest_ids(session: Session, *, channel: str, limit: int) -> Sequence[str]:
    """Return the newest evaluations of a channel that could be judged again, the newest first."""
    matching = select(_EVALUATION.id).where(*_conditions({}, channel))
    newest_first = matching.order_by(_EVALUATION.conversation_at.desc(), _EVALUATION.id.desc())
    return session.scalars(newest_first.limit(limit)).all()


def _require_room(session: Session) -> None:
    waiting = select(func.count()).where(ReEvaluation.state.in_(OPEN_STATES))
    if (session.scalar(waiting) or 0) >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} re-evaluations wait; try again when some have ended.")


def _locked(session: Session, re_evaluation_id: str) -> ReEvaluation | None:
    return session.scalar(
        select(ReEvaluation)
        .where(ReEvaluation.id == re_evaluation_id, ReEvaluation.state.in_(OPEN_STATES))
        .with_for_update(skip_locked=True)
    )


def _next(session: Session, row: ReEvaluation) -> tuple[Sequence[Evaluation], str]:
    """Return the next few evaluations, and the id up to which rows were read."""
    between = (_EVALUATION.id > row.cursor, _EVALUATION.id <= row.last_id)
    in_order = select(_EVALUATION.id).where(*between).order_by(_EVALUATION.id)
    end = session.scalar(in_order.offset(WINDOW - 1).limit(1)) or row.last_id
    # The filters apply to a window of rows: without it, SQLite scans an index of a filter from its
    # start and sorts all matches for every few rows.
    window = select(*_EVALUATION).where(*between).order_by(_EVALUATION.id).limit(WINDOW).subquery()
    conditions = [
        *_conditions(_filters(row), row.channel),
        # None is opened twice, even if the clocks of the workers differ.
        _EVALUATION.re_evaluation_id.is_distinct_from(row.id),
    ]
    ids = session.scalars(
        select(window.c.id)
        .where(*(_within(window, condition) for condition in conditions))
        .order_by(window.c.id)
        .limit(BATCH)
    ).all()
    batch = select(Evaluation).where(Evaluation.id.in_(ids)).order_by(Evaluation.id)
    return session.scalars(batch).all(), ids[-1] if len(ids) == BATCH else end


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


def _scorecard(
    session: Session, scorecard_id: str | None, version: int | None
) -> ResolvedScorecard | None:
    if scorecard_id is None:
        return None
    return scorecards.find(session, scorecard_id, version=version)


def _channel(scorecard: ResolvedScorecard | None) -> str | None:
    return None if scorecard is None else scorecard.scorecard.channel


def _status(row: ReEvaluation, waiting: int, opened: int) -> str:
    if row.state == JobState.FAILED:
        return "failed"
    if row.state == JobState.SUCCEEDED and not waiting:
        return "completed"
    return "running" if opened else "queued"


def _stored(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: iso_utc(value) if isinstance(value, datetime) else value
        for name, value in filters.items()
    }


def _filters(row: ReEvaluation) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value) if name in _MOMENTS else value
        for name, value in row.filters.items()
    }
