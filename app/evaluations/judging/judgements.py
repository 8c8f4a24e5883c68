"""Evaluation requests: the transcript is stored as it is now, and a job waits for a worker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.ai.context import Context
from app.ai.judge import CpuLimitExceeded, Judgement
from app.ai.transcript import Transcript
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations import contexts, references, service
from app.evaluations.enums import ENDED, FailureCode, Status
from app.evaluations.models import Evaluation, EvaluationJob
from app.evaluations.service import EvaluationCompletion, NewEvaluation
from app.evaluations.transcripts import store as transcripts
from app.evaluations.transcripts.store import NewTranscript
from app.scorecards.service import ResolvedScorecard

QUEUE = "evaluations"
_SORTABLE = {"created_at": EvaluationJob.queued_at}


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a judgement, read once, so that no transaction is open while it runs."""

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


def bell() -> Bell:
    """Return the bell of the queue; a worker judges everything that is due."""
    return Bell(QUEUE)


def list_open(session: Session, request: PageRequest) -> Page[Any]:
    """Return a page of evaluations of stored words that wait or are being judged, as mappings."""
    columns = [Evaluation.id, Evaluation.channel, Evaluation.executive, Evaluation.status]
    statement = select(*columns, EvaluationJob.queued_at).join(
        EvaluationJob, EvaluationJob.id == Evaluation.id
    )
    return select_page(session, statement, request, sortable=_SORTABLE, tail=EvaluationJob.id)


@dataclass(frozen=True, slots=True)
class JudgementRequest:
    """A request to judge a source.

    `raw_text_id` is the row with the originals of masked texts, `source` the other fields of
    `service.NewEvaluation`.
    """

    transcript: Transcript
    context: Context
    scorecard_id: str | None
    raw_text_id: str | None
    source: Mapping[str, Any]

    def new_transcript(self) -> NewTranscript:
        """Return what to store of its words."""
        source_type, source_id = self.source["source_type"], self.source["source_id"]
        return NewTranscript(source_type, source_id, self.transcript, self.raw_text_id)

    def new_evaluation(self, scorecard: ResolvedScorecard, transcript_id: str) -> NewEvaluation:
        """Return the columns of its evaluation."""
        return NewEvaluation(
            **self.source,
            scorecard_id=scorecard.id,
            scorecard_version=scorecard.version,
            scorecard_name=scorecard.name,
            transcript_id=transcript_id,
            context=contexts.document_of(self.context),
        )


def request(session: Session, requested: JudgementRequest) -> Evaluation:
    """Open the next revision of a source's evaluation and queue its judgement.

    A queued evaluation of the same source is canceled: its transcript is outdated.
    """
    [scorecard] = _scorecards_for(session, [requested])
    _cancel_waiting(session, requested.source["source_type"], requested.source["source_id"])
    transcript_id = transcripts.store_transcript(session, requested.new_transcript())
    new = requested.new_evaluation(scorecard, transcript_id)
    evaluation = service.open_evaluation(session, new)
    _queue(session, [evaluation])
    return evaluation


def request_first(session: Session, requests: Sequence[JudgementRequest]) -> list[Evaluation]:
    """Open the first evaluations of their sources and queue their judgements."""
    scorecards = _scorecards_for(session, requests)
    transcript_ids = transcripts.store_first(
        session, [requested.new_transcript() for requested in requests]
    )
    opened = service.open_first(
        session,
        [
            requested.new_evaluation(scorecard, transcript_id)
            for requested, scorecard, transcript_id in zip(
                requests, scorecards, transcript_ids, strict=True
            )
        ],
    )
    _queue(session, opened)
    return opened


def _scorecards_for(
    session: Session, requests: Sequence[JudgementRequest]
) -> list[ResolvedScorecard]:
    """Return the scorecard of each request; each is looked up once."""
    keys = [
        (requested.scorecard_id, requested.source["campaign_id"], requested.source["channel"])
        for requested in requests
    ]
    scorecards = {
        (scorecard_id, campaign_id, channel): references.scorecard_for(
            session, scorecard_id=scorecard_id, campaign_id=campaign_id, channel=channel
        )
        for scorecard_id, campaign_id, channel in dict.fromkeys(keys)
    }
    return [scorecards[key] for key in keys]


def _queue(session: Session, opened: Sequence[Evaluation]) -> None:
    session.add_all(EvaluationJob(id=evaluation.id) for evaluation in opened)
    session.flush()
    ring_after_commit(session, bell())


def claim(session: Session, job_id: str) -> Lease[EvaluationJob] | None:
    """Claim this evaluation, or the one that waits longest."""
    return leases.claim(session, EvaluationJob, job_id)


def claim_started_before(session: Session, _: str) -> Lease[EvaluationJob] | None:
    """Claim the evaluation that waits longest of those that no batch takes."""
    return leases.claim_started_before(session, EvaluationJob)


def begin_batch(session: Session, *, limit: int) -> list[tuple[Lease[EvaluationJob], Task]]:
    """Claim evaluations that were never started, of different sources, and read their inputs."""
    claimed = {
        lease.job_id: lease for lease in leases.claim_new(session, EvaluationJob, limit=limit)
    }
    sources: set[tuple[str, str]] = set()
    begun = []
    now = utc_now()
    evaluations = service.find_all(session, list(claimed))
    jobs = {job.id: job for job in leases.held_among(session, list(claimed.values()))}
    for evaluation in evaluations:
        job = jobs[evaluation.id]
        source = evaluation.source_type, evaluation.source_id
        if evaluation.status in ENDED:
            session.delete(job)
        elif source in sources:
            leases.requeue(job, due_at=now, counts=False)
        else:
            sources.add(source)
            evaluation.status = Status.EVALUATING
            evaluation.updated_at = now
            begun.append((claimed[evaluation.id], _task_of(evaluation)))
    return begun


def begin(session: Session, lease: Lease[EvaluationJob]) -> Task | None:
    """Read the input; None when the evaluation has ended meanwhile."""
    job = leases.held(session, lease)
    try:
        evaluation = service.set_status(session, lease.job_id, Status.EVALUATING)
    except (Conflict, NotFound):
        session.delete(job)
        return None
    return _task_of(evaluation)


def _task_of(evaluation: Evaluation) -> Task:
    return Task(
        transcript_id=evaluation.transcript_id or "",
        scorecard_id=evaluation.scorecard_id,
        scorecard_version=evaluation.scorecard_version,
        context=contexts.context_of(evaluation),
    )


def finish(
    session: Session, lease: Lease[EvaluationJob], transcript: Transcript, judgement: Judgement
) -> None:
    """Complete the evaluation; one that was canceled meanwhile stays so."""
    leases.held(session, lease)
    finish_batch(session, [JudgedTask(lease, transcript, judgement)])


def finish_batch(session: Session, judged: Sequence[JudgedTask]) -> None:
    """Complete the evaluations whose leases are still held, as `finish` does."""
    jobs = {job.id: job for job in leases.held_among(session, [item.lease for item in judged])}
    evaluations = {
        evaluation.id: evaluation
        for evaluation in service.find_all(session, list(jobs))
        if evaluation.status != Status.CANCELED
    }
    service.complete_all(
        session,
        [
            completion_of(evaluations[item.lease.job_id], item.transcript, item.judgement)
            for item in judged
            if item.lease.job_id in evaluations
        ],
    )
    now = utc_now()
    for evaluation_id in evaluations:
        leases.announce_end(jobs[evaluation_id], JobState.SUCCEEDED, now)
    session.execute(
        delete(EvaluationJob)
        .where(EvaluationJob.id.in_(jobs))
        .execution_options(synchronize_session=False)
    )


def completion_of(
    evaluation: Evaluation, transcript: Transcript, judgement: Judgement
) -> EvaluationCompletion:
    """Return what completes an evaluation; a duration that its source gave is kept."""
    known = evaluation.duration_seconds
    return EvaluationCompletion(
        evaluation.id,
        judgement,
        language=transcript.language,
        duration_seconds=judgement.duration_seconds if known is None else known,
    )


def fail(session: Session, lease: Lease[EvaluationJob], code: FailureCode, message: str) -> None:
    """Fail the evaluation."""
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


def is_final(error: Exception) -> bool:
    """Whether another attempt would only fail in the same way."""
    return isinstance(error, NotFound | CpuLimitExceeded)


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
