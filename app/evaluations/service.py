"""Lifecycle of evaluations: open, advance, complete or fail, and read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.ai.judge import Judgement
from app.core.clock import utc_now
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.evaluations import outcome, revisions
from app.evaluations.enums import ENDED, Status
from app.evaluations.listing import COLUMNS
from app.evaluations.models import Evaluation, SearchText
from app.evaluations.transcripts import store as transcripts

_DETAIL = select(*COLUMNS, Evaluation.__table__.c.summary)


def open_evaluation(
    session: Session,
    *,
    source_type: str,
    source_id: str,
    channel: str,
    engagement_id: str | None,
    campaign_id: str | None = None,
    campaign: str | None = None,
    call_center_id: str | None = None,
    call_center: str | None = None,
    executive_id: str | None = None,
    executive: str | None = None,
    scorecard_id: str,
    scorecard_version: int,
    scorecard_name: str,
    language: str | None = None,
    direction: str = "unknown",
    started_at: datetime | None = None,
    duration_seconds: int | None = None,
    external_id: str | None = None,
    labels: Mapping[str, str] | None = None,
    transcript_id: str | None = None,
    context: Mapping[str, Any] | None = None,
    created_at: datetime | None = None,
    re_evaluation_id: str | None = None,
) -> Evaluation:
    """Open the next revision of a source's evaluation, queued.

    A completed revision stays current until this one is completed too; any other is replaced at
    once.

    Args:
        transcript_id: the transcript to judge; by default the newest one at the end.
        context: known facts besides the words (see `contexts.document_of`).
        created_at: now by default.
    """
    now = utc_now()
    former = revisions.of_source(session, source_type=source_type, source_id=source_id)
    evaluation = Evaluation(
        id=new_id("eval"),
        source_type=source_type,
        source_id=source_id,
        channel=channel,
        engagement_id=engagement_id,
        campaign_id=campaign_id,
        campaign=campaign,
        call_center_id=call_center_id,
        call_center=call_center,
        executive_id=executive_id,
        executive=executive,
        scorecard_id=scorecard_id,
        scorecard_version=scorecard_version,
        scorecard_name=scorecard_name,
        language=language,
        direction=direction,
        started_at=started_at,
        duration_seconds=duration_seconds,
        external_id=external_id,
        labels=dict(labels or {}),
        transcript_id=transcript_id,
        context=None if context is None else dict(context),
        re_evaluation_id=re_evaluation_id,
        status=Status.QUEUED,
        revision=former[-1].revision + 1 if former else 1,
        supersedes_id=next((evaluation.id for evaluation in former if evaluation.is_current), None),
        is_current=not former,
        created_at=created_at or now,
        updated_at=now,
    )
    session.add(evaluation)
    _settle(session, [*former, evaluation])
    session.add(SearchText(evaluation_id=evaluation.id, text=outcome.search_text(evaluation)))
    revisions.count_opened(session, first_of_source=not former)
    return evaluation


def set_status(session: Session, evaluation_id: str, status: str) -> Evaluation:
    """Set an open status: transcribing, evaluating, or queued again.

    Raises:
        ValueError: the status is final; use `complete` or `fail`.
        Conflict: the evaluation has ended.
    """
    if Status(status) in ENDED:
        raise ValueError(f"{status} is an end")
    evaluation = find(session, evaluation_id)
    _require_open(evaluation)
    evaluation.status = Status(status)
    evaluation.updated_at = utc_now()
    session.flush()
    return evaluation


def complete(
    session: Session,
    evaluation_id: str,
    *,
    judgement: Judgement,
    language: str | None,
    duration_seconds: int | None,
    turn_count: int | None = None,
) -> Evaluation:
    """Store a judgement, make the evaluation current, count it and publish the event.

    A judgement without a score fails the evaluation instead and publishes nothing: a score in an
    event is never null. A second call does nothing.

    Raises:
        Conflict: the evaluation has failed or was canceled.
    """
    evaluation = find(session, evaluation_id)
    if evaluation.status == Status.COMPLETED:
        return evaluation
    transcript = transcripts.judged_by(session, evaluation)
    if transcript is not None:
        evaluation.transcript_id = transcript.id
        evaluation.redacted = transcript.redacted
    if judgement.problem is not None:
        problem = judgement.problem
        failed = fail(session, evaluation_id, code=problem.code, message=problem.message)
        failed.language = language or failed.language
        return failed
    _require_open(evaluation)
    evaluation.language = language or evaluation.language
    if duration_seconds is not None:
        evaluation.duration_seconds = duration_seconds
    outcome.store(session, evaluation, judgement, turn_count=turn_count)
    outcome.count(session, evaluation)
    evaluation.completed_at = utc_now()
    _end(session, evaluation, Status.COMPLETED)
    outcome.announce(session, evaluation)
    return evaluation


def fail(session: Session, evaluation_id: str, *, code: str, message: str) -> Evaluation:
    """End an evaluation without a result; a second call does nothing.

    Args:
        code: one of `enums.ErrorCode`.
        message: a sentence for API callers, never the text of an exception.

    Raises:
        Conflict: the evaluation is completed or was canceled.
    """
    evaluation = find(session, evaluation_id)
    if evaluation.status == Status.FAILED:
        return evaluation
    _require_open(evaluation)
    evaluation.error = {"code": str(code), "message": message}
    _end(session, evaluation, Status.FAILED)
    return evaluation


def cancel(session: Session, evaluation_id: str) -> Evaluation:
    """Cancel an evaluation that a newer one replaces; an ended one stays unchanged."""
    evaluation = find(session, evaluation_id)
    if evaluation.status not in ENDED:
        _end(session, evaluation, Status.CANCELED)
    return evaluation


def find(session: Session, evaluation_id: str, *, for_update: bool = False) -> Evaluation:
    """Return the row of an evaluation, locked if asked; `NotFound` where there is none."""
    evaluation = session.get(Evaluation, evaluation_id, with_for_update=for_update)
    if evaluation is None:
        raise NotFound("There is no such evaluation.")
    return evaluation


def get(session: Session, evaluation_id: str) -> dict[str, Any]:
    """Show an evaluation with its summary; `NotFound` where there is none."""
    row = (
        session.execute(_DETAIL.where(Evaluation.__table__.c.id == evaluation_id))
        .mappings()
        .first()
    )
    if row is None:
        raise NotFound("There is no such evaluation.")
    return dict(row)


def _require_open(evaluation: Evaluation) -> None:
    if evaluation.status in ENDED:
        raise Conflict(f"The evaluation is {evaluation.status}.")


def _end(session: Session, evaluation: Evaluation, status: Status) -> None:
    evaluation.status = status
    evaluation.updated_at = utc_now()
    session.flush()
    source_type, source_id = evaluation.source_type, evaluation.source_id
    of_source = revisions.of_source(session, source_type=source_type, source_id=source_id)
    before = _settle(session, of_source)
    if status == Status.COMPLETED and evaluation.is_current:
        outcome.score_moved(session, before if before is not evaluation else None, evaluation)


def _settle(session: Session, of_source: Sequence[Evaluation]) -> Evaluation | None:
    """Choose the current revision, notify the source, and return the one that was current."""
    before = next((evaluation for evaluation in of_source if evaluation.is_current), None)
    current = revisions.settle_current(of_source)
    session.flush()
    revisions.notify_changed(session, current)
    return before
