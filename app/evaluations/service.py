"""Lifecycle of evaluations, revision by revision: open, advance, complete or fail, and read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.rows import find_mapping, find_row
from app.core.errors import Conflict, NotFound
from app.core.hooks import hooks_of
from app.core.ids import new_id
from app.evaluations import listing, outcome, transcripts
from app.evaluations.enums import ENDED, Status
from app.evaluations.models import Evaluation, EvaluationResult, SearchText
from app.evaluations.outcome import EvaluationCompletion
from app.scorecards.service import ResolvedScorecard

_DETAIL = select(*listing.COLUMNS, Evaluation.__table__.c.summary)


def open_evaluation(session: Session, new: Evaluation, scorecard: ResolvedScorecard) -> None:
    """Open the next revision of a source's evaluation, queued.

    A completed revision stays current until this one is completed too; any other is replaced at
    once.

    Args:
        new: a row with the columns that the source gives, and the transcript to judge if it is known
            already.
    """
    _open(session, [(new, scorecard, of_source(session, new))])


def open_first(session: Session, new: Sequence[tuple[Evaluation, ResolvedScorecard]]) -> None:
    """Open the first evaluations of their sources, queued."""
    _open(session, [(evaluation, scorecard, []) for evaluation, scorecard in new])


def _open(
    session: Session, new: Sequence[tuple[Evaluation, ResolvedScorecard, Sequence[Evaluation]]]
) -> None:
    for evaluation, scorecard, former in new:
        _prepare(evaluation, scorecard, former)
    opened = [evaluation for evaluation, _, _ in new]
    session.add_all(opened)
    _choose_current(session, [[*former, evaluation] for evaluation, _, former in new])
    session.add_all(
        SearchText(evaluation_id=evaluation.id, text=outcome.search_text(evaluation))
        for evaluation in opened
    )
    listing.count_opened(
        session, len(opened), first_of_source=sum(not former for _, _, former in new)
    )


def _prepare(
    evaluation: Evaluation, scorecard: ResolvedScorecard, former: Sequence[Evaluation]
) -> None:
    now = utc_now()
    evaluation.id = new_id("eval")
    evaluation.scorecard_id = scorecard.id
    evaluation.scorecard_version = scorecard.version
    evaluation.scorecard_name = scorecard.name
    evaluation.status = Status.QUEUED
    evaluation.revision = former[-1].revision + 1 if former else 1
    evaluation.supersedes_id = next((row.id for row in former if row.is_current), None)
    evaluation.is_current = not former
    # One that is judged again keeps its place in time; a new row has None here.
    evaluation.created_at = evaluation.created_at or now  # type: ignore[truthy-bool]
    evaluation.updated_at = now


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


def complete(session: Session, *completions: EvaluationCompletion) -> None:
    """Store judgements, make their evaluations current, count them and publish the events.

    A judgement without a score fails its evaluation instead: a score in an event is never null. A completed evaluation stays as it is. The evaluations are of different
    sources.

    Raises:
        Conflict: one of the evaluations has failed or was canceled.
    """
    stored = transcripts.judged_by_all(session, [item.evaluation for item in completions])
    judged = []
    with session.no_autoflush:
        for item in completions:
            evaluation = item.evaluation
            if evaluation.status == Status.COMPLETED:
                continue
            transcript = stored.get(evaluation.id)
            if transcript is not None:
                evaluation.transcript_id = transcript.id
                evaluation.redacted = transcript.redacted
                evaluation.agent_unnamed = transcripts.lacks_agent(transcript)
            evaluation.language = item.language or evaluation.language
            problem = item.judgement.problem
            if problem is not None:
                fail(session, evaluation.id, code=problem.code, message=problem.message)
                continue
            _require_open(evaluation)
            if item.duration_seconds is not None:
                evaluation.duration_seconds = item.duration_seconds
            judged.append(item)
    if judged:
        _complete(session, judged)


def _complete(session: Session, judged: Sequence[EvaluationCompletion]) -> None:
    completed = [item.evaluation for item in judged]
    with session.no_autoflush:
        of_sources = _of_sources(session, completed)
        documents = outcome.store(session, judged)
        outcome.count(session, completed, of_sources)
    now = utc_now()
    for evaluation in completed:
        evaluation.status = Status.COMPLETED
        evaluation.completed_at = evaluation.updated_at = now
    chosen = _choose_current(session, of_sources.values(), documents)
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


def fail(session: Session, evaluation_id: str, *, code: str, message: str) -> Evaluation:
    """End an evaluation without a result and publish it; a second call does nothing.

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
    outcome.announce_failure(session, evaluation, code=str(code), message=message)
    return evaluation


def cancel(session: Session, evaluation_id: str) -> Evaluation:
    """Cancel an evaluation that a newer one replaces; an ended one stays unchanged."""
    evaluation = find(session, evaluation_id)
    if evaluation.status not in ENDED:
        _end(session, evaluation, Status.CANCELED)
    return evaluation


def find(session: Session, evaluation_id: str, *, for_update: bool = False) -> Evaluation:
    """Return the row of an evaluation, locked if `for_update`; raise `NotFound` if missing."""
    return find_row(session, Evaluation, evaluation_id, "evaluation", for_update=for_update)


def find_all(session: Session, evaluation_ids: Sequence[str]) -> list[Evaluation]:
    """Return the rows of evaluations in this order; `NotFound` where one is missing."""
    rows = session.scalars(select(Evaluation).where(Evaluation.id.in_(evaluation_ids)))
    by_id = {evaluation.id: evaluation for evaluation in rows}
    if len(by_id) < len(evaluation_ids):
        raise NotFound("There is no such evaluation.")
    return [by_id[evaluation_id] for evaluation_id in evaluation_ids]


def ended_among(session: Session, evaluation_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return status and error of those of these that have ended; a deleted one is canceled."""
    found = select(Evaluation.id, Evaluation.status, Evaluation.error).where(
        Evaluation.id.in_(evaluation_ids)
    )
    ends = dict.fromkeys(evaluation_ids, (str(Status.CANCELED), ""))
    for key, status, error in session.execute(found):
        ends[key] = (status, error["message"] if error else "")
    return {key: end for key, end in ends.items() if end[0] in ENDED}


def get(session: Session, evaluation_id: str) -> dict[str, Any]:
    """Show an evaluation with its summary; raise `NotFound` if it does not exist."""
    row = find_mapping(
        session, _DETAIL.where(Evaluation.__table__.c.id == evaluation_id), "evaluation"
    )
    return dict(row)


def of_source(session: Session, evaluation: Evaluation) -> Sequence[Evaluation]:
    """Return every revision of an evaluation's source in order, locked until the commit."""
    [revisions] = _of_sources(session, [evaluation]).values()
    return revisions


def notify_changed(
    session: Session, changed: Sequence[Evaluation], documents: Mapping[str, Any] | None = None
) -> None:
    """Call the hooks: higher packages show evaluations with their sources, and count results.

    Args:
        documents: results that this transaction has at hand, by evaluation; others are read.
    """
    hooks = hooks_of(session)
    for on_changed in hooks.on_evaluation_changed:
        on_changed(session, changed)
    known = dict(documents or {})
    if unread := {row.id for row in changed if row.status == Status.COMPLETED} - known.keys():
        stored = select(EvaluationResult.evaluation_id, EvaluationResult.document)
        of_these = EvaluationResult.evaluation_id.in_(unread)
        known |= dict(session.execute(stored.where(of_these)).all())
    for on_results in hooks.on_results_changed:
        on_results(session, [(row, known.get(row.id)) for row in changed])


def _of_sources(
    session: Session, evaluations: Iterable[Evaluation]
) -> dict[tuple[str, str], list[Evaluation]]:
    """Return every revision of each source in order, by type and id, locked until the commit."""
    revisions: dict[tuple[str, str], list[Evaluation]] = {
        (evaluation.source_type, evaluation.source_id): [] for evaluation in evaluations
    }
    rows = session.scalars(
        select(Evaluation)
        .where(Evaluation.source_id.in_([source_id for _, source_id in revisions]))
        .order_by(Evaluation.source_id, Evaluation.revision)
        .with_for_update()
    )
    for evaluation in rows:
        source = evaluation.source_type, evaluation.source_id
        if source in revisions:
            revisions[source].append(evaluation)
    return revisions


def _require_open(evaluation: Evaluation) -> None:
    if evaluation.status in ENDED:
        raise Conflict(f"The evaluation is {evaluation.status}.")


def _end(session: Session, evaluation: Evaluation, status: Status) -> None:
    evaluation.status = status
    evaluation.updated_at = utc_now()
    session.flush()
    _choose_current(session, [of_source(session, evaluation)])


def _choose_current(
    session: Session,
    of_sources: Iterable[Sequence[Evaluation]],
    documents: Mapping[str, Any] | None = None,
) -> list[tuple[Evaluation | None, Evaluation]]:
    """Choose the current revision of each source and notify.

    Returns:
        The revision that was current, if any, and the one that is current now.
    """
    chosen = []
    for revisions in of_sources:
        before = next((revision for revision in revisions if revision.is_current), None)
        chosen.append((before, _make_current(revisions)))
    session.flush()
    notify_changed(session, [current for _, current in chosen], documents)
    return chosen


def _make_current(revisions: Sequence[Evaluation]) -> Evaluation:
    """Make the newest completed revision current, or the newest one where none is completed.

    So a re-evaluation replaces the old revision in lists only when it has a result.
    """
    completed = [revision for revision in revisions if revision.status == Status.COMPLETED]
    current = (completed or revisions)[-1]
    for revision in revisions:
        if revision.is_current != (revision is current):
            revision.is_current = revision is current
            revision.updated_at = utc_now()
    return current
