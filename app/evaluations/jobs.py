"""Jobs of evaluations: judge stored transcripts, continue bulk re-evaluations, try scorecards."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import NotFound, ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import RENEW_EVERY_S, RETRY_PAUSE, Lease, LeaseLost
from app.core.jobs.runner import (
    Interrupted,
    JobType,
    LeaseRenewal,
    RunningJob,
    answer_bell,
    list_due,
    run_next,
)
from app.core.jobs.thread_pool import run_in_threads
from app.core.process import stopping
from app.core.process.stopping import Stopped
from app.core.runtime import Runtime
from app.evaluations import service as evaluations
from app.evaluations import sources, transcripts, trials
from app.evaluations.enums import FailureCode
from app.evaluations.judging import bulk, judgements
from app.evaluations.judging.judgements import JudgedTask, Task
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.models import EvaluationJob, ScorecardTrial
from app.evaluations.search import index
from app.evaluations.trials import TriedConversation, tried
from app.judge.judge import CpuLimitExceeded, Judge
from app.judge.judges import build_judge, requests_at_once
from app.judge.rule_judge import RuleJudge
from app.judge.scorecard.values import Scorecard, scorecard_from
from app.scorecards import service as scorecards
from app.transcript import Transcript

logger = logging.getLogger(__name__)
_BATCHES_INDEXED = 5

# Storing a batch holds the write lock for less than a tenth of a second.
_BATCH = 50
_MOST_TRIED = 200
due_trial_ids = partial(list_due, ScorecardTrial)


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
        is_final=_is_final,
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


def run_trial(runtime: Runtime, trial_id: str) -> None:
    """Run this trial, or the one that waits longest; do nothing if none waits."""
    job_type = JobType(
        claim=partial(leases.claim, table=ScorecardTrial), handle=_try, fail=trials.fail
    )
    answer_bell(runtime, job_type, trials.bell(trial_id))


def purge_trials(runtime: Runtime) -> None:
    """Delete the trials of the day before and earlier."""
    with runtime.db.writing() as session:
        trials.purge(session, before=utc_now() - trials.KEPT_FOR)


def index_words(runtime: Runtime) -> None:
    """Index some of the transcripts that were stored before there was a search."""
    for _ in range(_BATCHES_INDEXED):
        with runtime.db.writing() as session:
            if not index.fill(session):
                return


def purge_words(runtime: Runtime) -> None:
    """Remove erased words from the file of the search index, in short transactions."""
    is_first = True
    while not stopping.requested():
        with runtime.db.writing() as session:
            if not index.merge(session, is_first=is_first):
                return
        is_first = False


def judge_batch(runtime: Runtime, judge: Judge) -> bool:
    """Judge evaluations that were never started; False if there was nothing to do.

    One that fails returns to the queue with its attempt counted, and is judged alone from then on:
    so an evaluation that kills its worker takes others of its batch with it only once.
    """
    with runtime.db.writing() as session:
        claimed = judgements.begin_batch(session, limit=_BATCH)
    if not claimed:
        return False
    batch = _Batch(runtime.db, judge, claimed)
    try:
        with (
            runtime.traces.job(
                EvaluationJob.kind,
                claimed[0].lease.job_id,
                [task.lease.traceparent for task in claimed],
                runtime.db.engine,
            ),
            batch.renewal,
        ):
            with suppress(Stopped):
                batch.judge_all()
            batch.store()
        batch.release(utc_now(), counts=False)  # what a stop has left
    except ServiceUnavailable as error:
        logger.warning("a batch of evaluations has to wait: %s", error)
        batch.release(utc_now() + RETRY_PAUSE, counts=False)
    except Exception:  # the edge of the process: no evaluation may hang half-way
        logger.exception("a batch of evaluations failed; they are judged one by one")
        batch.release(utc_now() + RETRY_PAUSE, counts=True)
    return True


class _Batch:
    def __init__(self, db: Database, judge: Judge, claimed: Sequence[Task]) -> None:
        self.renewal = LeaseRenewal(self._renew, RENEW_EVERY_S)
        self._db = db
        self._judge = judge
        # By id, as all that lock several jobs do: two orders could block each other.
        ordered = sorted(claimed, key=lambda task: task.lease.job_id)
        self._open = {task.lease.job_id: task for task in ordered}
        self._judged: list[JudgedTask] = []
        self._scorecards: dict[tuple[str, int], Scorecard] = {}

    def judge_all(self) -> None:
        """Judge each evaluation; one that fails is released."""
        with self._db.reading() as session:
            stored = transcripts.load_all(
                session, [task.transcript_id for task in self._open.values()]
            )
        for task in list(self._open.values()):
            if stopping.requested():
                raise Stopped
            try:
                self._judged.append(self._judge_one(task, stored))
            except (Stopped, ServiceUnavailable):
                raise
            except Exception as error:
                logger.exception("the evaluation %s failed in its batch", task.lease.job_id)
                now = utc_now()
                due_at = now if _is_final(error) else now + RETRY_PAUSE
                self._release([task], due_at, counts=True)

    def store(self) -> None:
        with self._db.writing() as session:
            judgements.finish_batch(session, self._judged)
        for judged in self._judged:
            self._open.pop(judged.lease.job_id)

    def release(self, due_at: datetime, *, counts: bool) -> None:
        """Return all evaluations that are not stored to the queue."""
        if self._open:
            self._release(list(self._open.values()), due_at, counts=counts)

    def _judge_one(self, task: Task, stored: dict[str, Transcript]) -> JudgedTask:
        transcript = stored.get(task.transcript_id)
        if transcript is None:
            raise NotFound("There is no transcript.")
        judgement = self._judge.judge(
            transcript, self._scorecard_of(task), task.context, should_stop=stopping.requested
        )
        return JudgedTask(task.lease, transcript, judgement)

    def _scorecard_of(self, task: Task) -> Scorecard:
        """Return the scorecard of a task; each version is read and parsed once in a batch."""
        key = task.scorecard_id, task.scorecard_version
        if key not in self._scorecards:
            with self._db.reading() as session:
                self._scorecards[key] = scorecards.version_of(session, *key).scorecard
        return self._scorecards[key]

    def _release(self, released: Sequence[Task], due_at: datetime, *, counts: bool) -> None:
        with self._db.writing() as session:
            for task in released:
                self._open.pop(task.lease.job_id)
                with suppress(LeaseLost):
                    judgements.release(session, task.lease, due_at, counts)

    def _renew(self) -> bool:
        with self._db.writing() as session:
            renewed = [leases.renew(session, task.lease) for task in list(self._open.values())]
        return any(renewed)


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
        judgements.finish(session, JudgedTask(job.lease, transcript, judgement))


def _fail(session: Session, lease: Lease[EvaluationJob], error: Exception) -> None:
    message = "The evaluation failed because of an internal error."
    if isinstance(error, Interrupted):
        message = "The evaluation was interrupted too often; request it again."
    if _is_final(error):
        message = str(error)
    judgements.fail(session, lease, FailureCode.INTERNAL, message)


def _is_final(error: Exception) -> bool:
    """Return whether another attempt would only fail in the same way."""
    return isinstance(error, NotFound | CpuLimitExceeded)


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


def _try(job: RunningJob[ScorecardTrial]) -> None:
    """Judge the newest conversations of the channel by both scorecards."""
    with job.transaction() as session:
        trial = leases.held(session, job.lease)
        after = scorecard_from(trial.document)
        before = scorecards.version_of(session, trial.baseline_id, trial.baseline_version).scorecard
    with job.runtime.db.reading() as session:
        ids = bulk.newest_ids(session, channel=after.channel, limit=_MOST_TRIED)
    conversations = []
    for number, evaluation_id in enumerate(ids, start=1):
        job.require_going_on()
        conversation = _judged(job.runtime, evaluation_id, before, after)
        if conversation is not None:
            conversations.append(conversation)
        job.report_progress(100 * number // len(ids))
    with job.transaction() as session:
        trials.finish(session, job.lease, conversations)


def _judged(
    runtime: Runtime, evaluation_id: str, before: Scorecard, after: Scorecard
) -> TriedConversation | None:
    """Judge one conversation by both; None where it was erased or takes too long."""
    judge = RuleJudge(runtime.settings.evaluation_cpu_s, fast=runtime.settings.judge_fast)
    try:
        with runtime.db.reading() as session:
            evaluation = evaluations.find(session, evaluation_id)
            transcript = transcripts.load_stored(session, evaluation.transcript_id or "")
            context = sources.context_of(session, evaluation)
        first, second = (judge.judge(transcript, card, context) for card in (before, after))
    except (NotFound, CpuLimitExceeded):
        return None
    return tried(evaluation_id, first, second)
