"""Judgements of stored transcripts: requested, queued as jobs, and stored with their evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations import service, sources, transcripts
from app.evaluations.enums import ENDED, FailureCode, Status
from app.evaluations.models import Evaluation, EvaluationJob, StoredTranscript
from app.evaluations.outcome import EvaluationCompletion
from app.evaluations.search import index
from app.judge.context import Context
from app.judge.judge import Judgement
from app.scorecards import service as scorecards
from app.scorecards.service import ResolvedScorecard
from app.transcript import Transcript

QUEUE = "evaluations"
# Names no row: a worker judges everything that is due.
BELL = Bell(QUEUE)
claim = partial(leases.claim, table=EvaluationJob)
claim_started_before = partial(leases.claim_started_before, table=EvaluationJob)
# New conversations go before bulk re-evaluations.
_BULK_PRIORITY = -1
_SORTABLE = {"created_at": EvaluationJob.queued_at}
# What the next revision of an evaluation takes over.
_COLUMNS_OF_SOURCE = (
    *("source_type", "source_id", "channel", "direction", "language", "labels", "external_id"),
    *("engagement_id", "campaign_id", "campaign", "call_center_id", "call_center"),
    *("executive_id", "executive", "started_at", "conversation_at", "created_at"),
    *("duration_seconds", "context"),
)


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a judgement, read once, so that no transaction is open while it runs."""

    lease: Lease[EvaluationJob]
    transcript_id: str
    scorecard_id: str
    scorecard_version: int
    context: Context


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """A claimed evaluation with its transcript and its judgement."""

    lease: Lease[EvaluationJob]
    transcript: Transcript
    judgement: Judgement


def list_open(session: Session, request: PageRequest) -> Page[Any]:
    """Return a page of evaluations of stored words that wait or are being judged, as mappings."""
    columns = [Evaluation.id, Evaluation.channel, Evaluation.executive, Evaluation.status]
    statement = select(*columns, EvaluationJob.queued_at).join(
        EvaluationJob, EvaluationJob.id == Evaluation.id
    )
    return select_page(session, statement, request, sortable=_SORTABLE, tail=EvaluationJob.id)


def request(
    session: Session,
    evaluation: Evaluation,
    transcript: StoredTranscript,
    *,
    scorecard_id: str | None = None,
) -> Evaluation:
    """Open the next revision of a source's evaluation and queue its judgement.

    A queued evaluation of the same source is canceled: its transcript is outdated.

    Args:
        evaluation: a new row with the columns that its source gives.
        transcript: a new row; if the newest one of the source has the same words, that is judged.
    """
    scorecard = sources.scorecard_for(session, scorecard_id, *_place(evaluation))
    _cancel_waiting(session, evaluation.source_type, evaluation.source_id)
    evaluation.transcript_id = transcripts.store(session, transcript)
    service.open_evaluation(session, evaluation, scorecard)
    _queue(session, [evaluation])
    return evaluation


def _place(evaluation: Evaluation) -> tuple[str | None, str, str | None]:
    """Return what decides on the scorecard where none is requested."""
    platform = (evaluation.context or {}).get("platform")
    return evaluation.campaign_id, evaluation.channel, platform


def request_first(
    session: Session,
    requested: Sequence[tuple[Evaluation, StoredTranscript]],
    *,
    scorecard_id: str | None,
) -> list[Evaluation]:
    """Open the first evaluations of their sources and queue their judgements (see `request`)."""
    evaluations = [evaluation for evaluation, _ in requested]
    # Each scorecard is looked up once.
    by_place = {
        place: sources.scorecard_for(session, scorecard_id, *place)
        for place in dict.fromkeys(map(_place, evaluations))
    }
    for evaluation, transcript in requested:
        session.add(transcript)
        evaluation.transcript_id = transcript.id
    index.record(session, [transcript for _, transcript in requested])
    service.open_first(
        session, [(evaluation, by_place[_place(evaluation)]) for evaluation in evaluations]
    )
    _queue(session, evaluations)
    return evaluations


def request_again(
    session: Session,
    evaluation_id: str,
    *,
    scorecard_id: str | None = None,
    scorecard_version: int | None = None,
) -> Evaluation:
    """Open the next revision of an evaluation and queue its judgement.

    The old revision stays current until the new one is completed.

    Args:
        scorecard_id: by default the same scorecard.
        scorecard_version: by default the current one.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not the current one, a judgement of its source is under way, or there are
            no words to judge.
        InvalidInput: the scorecard or version does not exist or is for another channel.
    """
    # A second request at the same moment waits here, and then sees the revision of the first one.
    former = service.find(session, evaluation_id, for_update=True)
    scorecard = scorecards.resolve(
        session,
        scorecard_id=scorecard_id or former.scorecard_id,
        version=scorecard_version,
        channel=former.channel,
    )
    revisions = service.of_source(session, former)
    current = next(evaluation for evaluation in revisions if evaluation.is_current)
    if current is not former:
        raise Conflict(f"{current.id} is the current evaluation of this source; request that one.")
    if any(evaluation.status not in ENDED for evaluation in revisions):
        raise Conflict("An evaluation of this source is running; try again when it has ended.")
    evaluation = open_again(session, former, scorecard)
    ring_after_commit(session, BELL)
    return evaluation


def open_again(
    session: Session,
    former: Evaluation,
    scorecard: ResolvedScorecard,
    *,
    re_evaluation_id: str | None = None,
) -> Evaluation:
    """Open the next revision of an evaluation that is current and has ended, and queue it.

    It keeps its place in time: lists and trends show it at the date of the old one.

    Args:
        re_evaluation_id: the bulk re-evaluation that opens it.
    """
    transcript = transcripts.judged_by(session, former)
    if transcript is None:
        raise Conflict("There is no transcript to judge.")
    if transcript.erased_at is not None:
        raise Conflict("The transcript has been erased.")
    evaluation = Evaluation(
        **{name: getattr(former, name) for name in _COLUMNS_OF_SOURCE},
        transcript_id=transcript.id,
        re_evaluation_id=re_evaluation_id,
    )
    service.open_evaluation(session, evaluation, scorecard)
    priority = 0 if re_evaluation_id is None else _BULK_PRIORITY
    session.add(EvaluationJob(id=evaluation.id, priority=priority))
    session.flush()
    return evaluation


def _queue(session: Session, opened: Sequence[Evaluation]) -> None:
    session.add_all(EvaluationJob(id=evaluation.id) for evaluation in opened)
    session.flush()
    ring_after_commit(session, BELL)


def _cancel_waiting(session: Session, source_type: str, source_id: str) -> None:
    waiting = session.scalars(
        select(EvaluationJob.id)
        .join(Evaluation, Evaluation.id == EvaluationJob.id)
        .where(
            Evaluation.source_id == source_id,
            Evaluation.source_type == source_type,
            EvaluationJob.state == JobState.QUEUED,
        )
        .with_for_update(of=EvaluationJob)
    ).all()
    for evaluation_id in waiting:
        session.execute(delete(EvaluationJob).where(EvaluationJob.id == evaluation_id))
        service.cancel(session, evaluation_id)


def begin_batch(session: Session, *, limit: int) -> list[Task]:
    """Claim evaluations that were never started, of different sources, and read their inputs."""
    claimed = {
        lease.job_id: lease for lease in leases.claim_new(session, EvaluationJob, limit=limit)
    }
    begun_sources: set[tuple[str, str]] = set()
    begun = []
    now = utc_now()
    evaluations = service.find_all(session, list(claimed))
    jobs = {job.id: job for job in leases.held_among(session, list(claimed.values()))}
    for evaluation in evaluations:
        job = jobs[evaluation.id]
        source = evaluation.source_type, evaluation.source_id
        if evaluation.status in ENDED:
            session.delete(job)
        elif source in begun_sources:
            leases.requeue(job, due_at=now, counts=False)
        else:
            begun_sources.add(source)
            evaluation.status = Status.EVALUATING
            evaluation.updated_at = now
            begun.append(_task_of(session, claimed[evaluation.id], evaluation))
    return begun


def begin(session: Session, lease: Lease[EvaluationJob]) -> Task | None:
    """Read the input; None when the evaluation has ended meanwhile."""
    job = leases.held(session, lease)
    try:
        evaluation = service.set_status(session, lease.job_id, Status.EVALUATING)
    except (Conflict, NotFound):
        session.delete(job)
        return None
    return _task_of(session, lease, evaluation)


def _task_of(session: Session, lease: Lease[EvaluationJob], evaluation: Evaluation) -> Task:
    sources.follow_merges(session, [evaluation])
    return Task(
        lease,
        transcript_id=evaluation.transcript_id or "",
        scorecard_id=evaluation.scorecard_id,
        scorecard_version=evaluation.scorecard_version,
        context=sources.context_of(session, evaluation),
    )


def finish(session: Session, judged: JudgedTask) -> None:
    """Complete the evaluation; one that was canceled meanwhile stays so."""
    leases.held(session, judged.lease)
    finish_batch(session, [judged])


def finish_batch(session: Session, judged: Sequence[JudgedTask]) -> None:
    """Complete the evaluations whose leases are still held, as `finish` does."""
    jobs = {job.id: job for job in leases.held_among(session, [item.lease for item in judged])}
    evaluations = {
        evaluation.id: evaluation
        for evaluation in service.find_all(session, list(jobs))
        if evaluation.status != Status.CANCELED
    }
    sources.follow_merges(session, list(evaluations.values()))
    service.complete(
        session,
        *(
            _completion_of(evaluations[item.lease.job_id], item)
            for item in judged
            if item.lease.job_id in evaluations
        ),
    )
    now = utc_now()
    for evaluation_id in evaluations:
        leases.announce_end(jobs[evaluation_id], JobState.SUCCEEDED, now)
    session.execute(
        delete(EvaluationJob)
        .where(EvaluationJob.id.in_(jobs))
        .execution_options(synchronize_session=False)
    )


def _completion_of(evaluation: Evaluation, judged: JudgedTask) -> EvaluationCompletion:
    """Complete an evaluation with a judgement; a duration that its source gave is kept."""
    known = evaluation.duration_seconds
    return EvaluationCompletion(
        evaluation,
        judged.judgement,
        language=judged.transcript.language,
        duration_seconds=judged.judgement.duration_seconds if known is None else known,
    )


def fail(session: Session, lease: Lease[EvaluationJob], code: FailureCode, message: str) -> None:
    job = leases.held(session, lease)
    if service.find(session, lease.job_id).status != Status.CANCELED:
        service.fail(session, lease.job_id, code=code, message=message)
        leases.announce_end(job, JobState.FAILED, utc_now())
    session.delete(job)


def release(session: Session, lease: Lease[EvaluationJob], due_at: datetime, counts: bool) -> None:
    """Return the evaluation to the queue (see `core.jobs.leases.release`)."""
    leases.release(session, lease, due_at, counts)
    if service.find(session, lease.job_id).status == Status.EVALUATING:
        service.set_status(session, lease.job_id, Status.QUEUED)
