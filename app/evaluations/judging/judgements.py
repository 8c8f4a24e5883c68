"""Evaluation requests: the transcript is stored as it is now, and a job waits for a worker."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.ai.context import Context
from app.ai.judge import Judgement
from app.ai.transcript import Transcript
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations import contexts, references, service
from app.evaluations.enums import FailureCode, Status
from app.evaluations.models import Evaluation, EvaluationJob
from app.evaluations.transcripts import store as transcripts

QUEUE = "evaluations"
_SORTABLE = {"created_at": EvaluationJob.queued_at}


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a judgement, read once, so that no transaction is open while it runs."""

    transcript_id: str
    scorecard_id: str
    scorecard_version: int
    context: Context


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


def request(
    session: Session,
    *,
    transcript: Transcript,
    context: Context,
    scorecard_id: str | None = None,
    raw_text_id: str | None = None,
    **source: Any,
) -> Evaluation:
    """Open the next revision of a source's evaluation and queue its judgement.

    A queued evaluation of the same source is canceled: its transcript is outdated.

    Args:
        raw_text_id: the row with the originals of masked texts.
        source: the other arguments of `service.open_evaluation`.

    Raises:
        InvalidInput: the scorecard does not exist or is for another channel.
    """
    scorecard = references.scorecard_for(
        session,
        scorecard_id=scorecard_id,
        campaign_id=source.get("campaign_id"),
        channel=source["channel"],
    )
    source_type, source_id = source["source_type"], source["source_id"]
    _cancel_waiting(session, source_type, source_id)
    transcript_id = transcripts.store_transcript(
        session,
        source_type=source_type,
        source_id=source_id,
        transcript=transcript,
        raw_text_id=raw_text_id,
    )
    evaluation = service.open_evaluation(
        session,
        **source,
        scorecard_id=scorecard.id,
        scorecard_version=scorecard.version,
        scorecard_name=scorecard.name,
        transcript_id=transcript_id,
        context=contexts.document_of(context),
    )
    now = utc_now()
    session.add(EvaluationJob(id=evaluation.id, due_at=now, queued_at=now))
    session.flush()
    ring_after_commit(session, bell())
    return evaluation


def claim(session: Session, job_id: str) -> Lease[EvaluationJob] | None:
    """Claim this evaluation, or the one that waits longest."""
    return leases.claim(session, EvaluationJob, job_id)


def begin(session: Session, lease: Lease[EvaluationJob]) -> Task | None:
    """Read the input; None when the evaluation has ended meanwhile."""
    job = leases.held(session, lease)
    try:
        evaluation = service.set_status(session, lease.job_id, Status.EVALUATING)
    except (Conflict, NotFound):
        session.delete(job)
        return None
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
    job = leases.held(session, lease)
    evaluation = service.find(session, lease.job_id)
    if evaluation.status != Status.CANCELED:
        known = evaluation.duration_seconds
        service.complete(
            session,
            lease.job_id,
            judgement=judgement,
            language=transcript.language,
            duration_seconds=judgement.duration_seconds if known is None else known,
        )
    session.delete(job)


def fail(session: Session, lease: Lease[EvaluationJob], code: FailureCode, message: str) -> None:
    """Fail the evaluation."""
    job = leases.held(session, lease)
    if service.find(session, lease.job_id).status != Status.CANCELED:
        service.fail(session, lease.job_id, code=code, message=message)
    session.delete(job)


def release(session: Session, lease: Lease[EvaluationJob], due_at: datetime, counts: bool) -> None:
    """Return the evaluation to the queue (see `core.jobs.leases.release`)."""
    leases.release(session, lease, due_at, counts)
    if service.find(session, lease.job_id).status == Status.EVALUATING:
        service.set_status(session, lease.job_id, Status.QUEUED)


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
