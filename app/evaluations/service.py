"""Lifecycle of evaluations: open, advance, complete or fail, and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.ai.judge import Judgement
from app.core.clock import utc_now
from app.core.database.rows import find_mapping, find_row
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.evaluations import outcome, revisions
from app.evaluations.enums import ENDED, Status
from app.evaluations.listing import COLUMNS
from app.evaluations.models import Evaluation, SearchText
from app.evaluations.outcome import JudgedEvaluation
from app.evaluations.transcripts import store as transcripts

_DETAIL = select(*COLUMNS, Evaluation.__table__.c.summary)


@dataclass(frozen=True, slots=True)
class EvaluationCompletion:
    """A judgement to store; a language or duration of None keeps the known one."""

    evaluation_id: str
    judgement: Judgement
    language: str | None
    duration_seconds: int | None
    turn_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvaluation:
    """The columns of a new evaluation.

    Args:
        transcript_id: the transcript to judge; by default the newest one at the end.
        context: known facts about the conversation (see `contexts.document_of`).
        created_at: now by default.
    """

    source_type: str
    source_id: str
    channel: str
    engagement_id: str | None
    campaign_id: str | None = None
    campaign: str | None = None
    call_center_id: str | None = None
    call_center: str | None = None
    executive_id: str | None = None
    executive: str | None = None
    scorecard_id: str
    scorecard_version: int
    scorecard_name: str
    language: str | None = None
    direction: str = "unknown"
    started_at: datetime | None = None
    duration_seconds: int | None = None
    external_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    transcript_id: str | None = None
    context: Mapping[str, Any] | None = None
    created_at: datetime | None = None
    re_evaluation_id: str | None = None


def open_evaluation(session: Session, new: NewEvaluation) -> Evaluation:
    """Open the next revision of a source's evaluation, queued.

    A completed revision stays current until this one is completed too; any other is replaced at
    once.
    """
    former = revisions.of_source(session, source_type=new.source_type, source_id=new.source_id)
    return _open(session, [(new, former)])[0]


def open_first(session: Session, new: Sequence[NewEvaluation]) -> list[Evaluation]:
    """Open the first evaluations of their sources, queued."""
    return _open(session, [(evaluation, []) for evaluation in new])


def _open(
    session: Session, new_and_former: Sequence[tuple[NewEvaluation, Sequence[Evaluation]]]
) -> list[Evaluation]:
    opened = [_queued(new, former) for new, former in new_and_former]
    session.add_all(opened)
    _choose_current(
        session,
        [
            [*former, evaluation]
            for (_, former), evaluation in zip(new_and_former, opened, strict=True)
        ],
    )
    session.add_all(
        SearchText(evaluation_id=evaluation.id, text=outcome.search_text(evaluation))
        for evaluation in opened
    )
    revisions.count_opened(
        session, len(opened), first_of_source=sum(not former for _, former in new_and_former)
    )
    return opened


def _queued(new: NewEvaluation, former: Sequence[Evaluation]) -> Evaluation:
    now = utc_now()
    columns = {column.name: getattr(new, column.name) for column in fields(new)}
    columns |= {"labels": dict(new.labels), "created_at": new.created_at or now}
    return Evaluation(
        **columns,
        id=new_id("eval"),
        status=Status.QUEUED,
        revision=former[-1].revision + 1 if former else 1,
        supersedes_id=next((evaluation.id for evaluation in former if evaluation.is_current), None),
        is_current=not former,
        updated_at=now,
    )


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


def complete(session: Session, completion: EvaluationCompletion) -> Evaluation:
    """Complete one evaluation (see `complete_all`)."""
    return complete_all(session, [completion])[0]


def complete_all(session: Session, completions: Sequence[EvaluationCompletion]) -> list[Evaluation]:
    """Store judgements, make their evaluations current, count them and publish the events.

    A judgement without a score fails its evaluation instead and publishes nothing: a score in an
    event is never null. A completed evaluation stays as it is. The evaluations are of different
    sources.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: one of the evaluations has failed or was canceled.
    """
    evaluations = find_all(session, [completion.evaluation_id for completion in completions])
    transcripts_by_id = transcripts.judged_by_all(session, evaluations)
    judged = []
    with session.no_autoflush:
        for completion, evaluation in zip(completions, evaluations, strict=True):
            if evaluation.status == Status.COMPLETED:
                continue
            transcript = transcripts_by_id.get(evaluation.id)
            if transcript is not None:
                evaluation.transcript_id = transcript.id
                evaluation.redacted = transcript.redacted
            problem = completion.judgement.problem
            if problem is not None:
                fail(session, evaluation.id, code=problem.code, message=problem.message)
                evaluation.language = completion.language or evaluation.language
                continue
            _require_open(evaluation)
            evaluation.language = completion.language or evaluation.language
            if completion.duration_seconds is not None:
                evaluation.duration_seconds = completion.duration_seconds
            judged.append(JudgedEvaluation(evaluation, completion.judgement, completion.turn_count))
    if judged:
        _complete(session, judged)
    return evaluations


def _complete(session: Session, judged: Sequence[JudgedEvaluation]) -> None:
    completed = [item.evaluation for item in judged]
    with session.no_autoflush:
        of_sources = _of_sources(session, completed)
        # Keeping these rows in a variable keeps them in the session, where the hooks find them.
        results = outcome.store(session, judged)
        outcome.count(session, completed, of_sources)
    now = utc_now()
    for evaluation in completed:
        evaluation.status = Status.COMPLETED
        evaluation.completed_at = evaluation.updated_at = now
    chosen = _choose_current(session, of_sources.values())
    ended = {evaluation.id for evaluation in completed}
    outcome.update_campaign_means(
        session,
        (
            (None if before is current else before, current)
            for before, current in chosen
            if current.id in ended
        ),
    )
    outcome.announce(session, completed)
    del results


def fail(session: Session, evaluation_id: str, *, code: str, message: str) -> Evaluation:
    """End an evaluation without a result; a second call does nothing.

    Args:
        code: one of `enums.FailureCode`.
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
    """Return the row of an evaluation, locked if `for_update`; `NotFound` where there is none."""
    return find_row(session, Evaluation, evaluation_id, "evaluation", for_update=for_update)


def find_all(session: Session, evaluation_ids: Sequence[str]) -> list[Evaluation]:
    """Return the rows of evaluations in this order; `NotFound` where one is missing."""
    rows = session.scalars(select(Evaluation).where(Evaluation.id.in_(evaluation_ids)))
    by_id = {evaluation.id: evaluation for evaluation in rows}
    if len(by_id) < len(evaluation_ids):
        raise NotFound("There is no such evaluation.")
    return [by_id[evaluation_id] for evaluation_id in evaluation_ids]


def get(session: Session, evaluation_id: str) -> dict[str, Any]:
    """Show an evaluation with its summary; `NotFound` where there is none."""
    row = find_mapping(
        session, _DETAIL.where(Evaluation.__table__.c.id == evaluation_id), "evaluation"
    )
    return dict(row)


def _require_open(evaluation: Evaluation) -> None:
    if evaluation.status in ENDED:
        raise Conflict(f"The evaluation is {evaluation.status}.")


def _end(session: Session, evaluation: Evaluation, status: Status) -> None:
    evaluation.status = status
    evaluation.updated_at = utc_now()
    session.flush()
    _choose_current(session, _of_sources(session, [evaluation]).values())


def _of_sources(
    session: Session, evaluations: Iterable[Evaluation]
) -> dict[tuple[str, str], list[Evaluation]]:
    return revisions.of_sources(
        session, [(evaluation.source_type, evaluation.source_id) for evaluation in evaluations]
    )


def _choose_current(
    session: Session, of_sources: Iterable[Sequence[Evaluation]]
) -> list[tuple[Evaluation | None, Evaluation]]:
    """Choose the current revision of each source and notify.

    Returns:
        The revision that was current, if any, and the one that is current now.
    """
    chosen = []
    for of_source in of_sources:
        before = next((evaluation for evaluation in of_source if evaluation.is_current), None)
        chosen.append((before, revisions.choose_current(of_source)))
    session.flush()
    revisions.notify_changed(session, *(current for _, current in chosen))
    return chosen
