"""Jobs that judge stored conversations and calls, and continue bulk re-evaluations."""

import logging
from collections.abc import Sequence
from functools import partial

from sqlalchemy.orm import Session

from app.ai.judge import Judge
from app.ai.judges import build_judge, requests_at_once
from app.core.errors import ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.runner import Interrupted, JobType, RunningJob, run_next
from app.core.jobs.thread_pool import run_in_threads
from app.core.runtime import Runtime
from app.evaluations.enums import FailureCode
from app.evaluations.judging import bulk, judgements
from app.evaluations.judging.batches import judge_batch
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.models import EvaluationJob
from app.evaluations.transcripts import store as transcripts
from app.scorecards import service as scorecards

logger = logging.getLogger(__name__)


def judge(runtime: Runtime, job_id: str = "") -> None:
    """Judge all that is due; then continue bulk re-evaluations.

    The rules only compute: they take evaluations in batches. A language model is mostly waited for:
    it gets several at once, this evaluation first.
    """
    engine = build_judge(runtime.settings, StoredAnswers(runtime.db))
    at_once = requests_at_once(runtime.settings)
    in_batches = at_once == 1
    job_type = JobType(
        claim=judgements.claim_started_before if in_batches else judgements.claim,
        handle=partial(_judge_evaluation, judge=engine),
        fail=_fail,
        release=judgements.release,
        is_final=judgements.is_final,
    )

    def judge_next() -> bool:
        judged_batch = in_batches and judge_batch(runtime, engine)
        judged_one = run_next(runtime, job_type, job_id) is not None
        return judged_batch or judged_one or _open_next_of_bulk(runtime)

    run_in_threads(judge_next, at_once=at_once)


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the evaluations that wait for a worker or were abandoned by one."""
    with runtime.db.reading() as session:
        due = leases.due_ids(session, EvaluationJob)
        waiting = bulk.next_id(session)
    return [*due, waiting] if waiting else due


def _open_next_of_bulk(runtime: Runtime) -> bool:
    """Open the next evaluations of a bulk re-evaluation; False when none could be opened."""
    with runtime.db.reading() as session:
        waiting = bulk.next_id(session)
    if waiting is None:
        return False
    try:
        with runtime.db.writing() as session:
            return bulk.open_next(session, waiting)
    except ServiceUnavailable as error:
        logger.warning("the re-evaluation %s has to wait: %s", waiting, error)
    except Exception:  # the edge of the process: no re-evaluation may hang half-way
        logger.exception("the re-evaluation %s failed", waiting)
        with runtime.db.writing() as session:
            bulk.note_failure(session, waiting)
    return False


def _judge_evaluation(job: RunningJob[EvaluationJob], *, judge: Judge) -> None:
    """Judge one stored transcript; each `with` is one short transaction."""
    with job.transaction() as session:
        task = judgements.begin(session, job.lease)
    if task is None:
        return
    with job.runtime.db.reading() as session:
        transcript = transcripts.load_stored(session, task.transcript_id)
        scorecard = scorecards.version_of(
            session, task.scorecard_id, task.scorecard_version
        ).scorecard
    judgement = judge.judge(transcript, scorecard, task.context, should_stop=job.should_stop)
    with job.transaction() as session:
        judgements.finish(session, job.lease, transcript, judgement)


def _fail(session: Session, lease: Lease[EvaluationJob], error: Exception) -> None:
    message = "The evaluation failed because of an internal error."
    if isinstance(error, Interrupted):
        message = "The evaluation was interrupted too often; request it again."
    if judgements.is_final(error):
        message = str(error)
    judgements.fail(session, lease, FailureCode.INTERNAL, message)
