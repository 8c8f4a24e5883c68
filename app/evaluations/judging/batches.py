"""Batches of judgements: claimed together, judged one after another, and stored together."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from app.ai.judge import Judge
from app.ai.scorecard.values import Scorecard
from app.ai.transcript import Transcript
from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import NotFound, ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import RENEW_EVERY_S, RETRY_PAUSE, Lease, LeaseLost
from app.core.jobs.runner import LeaseRenewal
from app.core.process import stopping
from app.core.process.stopping import Stopped
from app.core.runtime import Runtime
from app.evaluations.judging import judgements
from app.evaluations.judging.judgements import JudgedTask, Task
from app.evaluations.models import EvaluationJob
from app.evaluations.transcripts import store as transcripts
from app.scorecards import service as scorecards

logger = logging.getLogger(__name__)

# Storing a batch holds the write lock for less than a tenth of a second.
SIZE = 50
_Claimed = Sequence[tuple[Lease[EvaluationJob], Task]]


def judge_batch(runtime: Runtime, judge: Judge) -> bool:
    """Judge evaluations that were never started; False when there are none.

    One that fails returns to the queue with its attempt counted, and is judged alone from then on:
    so an evaluation that kills its worker takes others of its batch with it only once.
    """
    with runtime.db.writing() as session:
        claimed = judgements.begin_batch(session, limit=SIZE)
    if not claimed:
        return False
    batch = _Batch(runtime.db, judge, claimed)
    try:
        with (
            runtime.traces.job(
                EvaluationJob.kind,
                claimed[0][0].job_id,
                [lease.traceparent for lease, _ in claimed],
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
    def __init__(self, db: Database, judge: Judge, claimed: _Claimed) -> None:
        self.renewal = LeaseRenewal(self._renew, RENEW_EVERY_S)
        self._db = db
        self._judge = judge
        # By id, as all that lock several jobs do: two orders could block each other.
        ordered = sorted(claimed, key=lambda claim: claim[0].job_id)
        self._open = {lease.job_id: (lease, task) for lease, task in ordered}
        self._judged: list[JudgedTask] = []
        self._scorecards: dict[tuple[str, int], Scorecard] = {}

    def judge_all(self) -> None:
        """Judge each evaluation; one that fails is released."""
        with self._db.reading() as session:
            stored = transcripts.load_all(
                session, [task.transcript_id for _, task in self._open.values()]
            )
        for lease, task in list(self._open.values()):
            if stopping.requested():
                raise Stopped
            try:
                self._judged.append(self._judge_one(lease, task, stored))
            except (Stopped, ServiceUnavailable):
                raise
            except Exception as error:
                logger.exception("the evaluation %s failed in its batch", lease.job_id)
                now = utc_now()
                due_at = now if judgements.is_final(error) else now + RETRY_PAUSE
                self._release([lease], due_at, counts=True)

    def store(self) -> None:
        """Complete all judged evaluations in one transaction."""
        with self._db.writing() as session:
            judgements.finish_batch(session, self._judged)
        for judged in self._judged:
            self._open.pop(judged.lease.job_id)

    def release(self, due_at: datetime, *, counts: bool) -> None:
        """Return all evaluations that are not stored to the queue."""
        if self._open:
            self._release([lease for lease, _ in self._open.values()], due_at, counts=counts)

    def _judge_one(
        self, lease: Lease[EvaluationJob], task: Task, stored: dict[str, Transcript]
    ) -> JudgedTask:
        transcript = stored.get(task.transcript_id)
        if transcript is None:
            raise NotFound("There is no transcript.")
        judgement = self._judge.judge(
            transcript, self._scorecard_of(task), task.context, should_stop=stopping.requested
        )
        return JudgedTask(lease, transcript, judgement)

    def _scorecard_of(self, task: Task) -> Scorecard:
        """Return the scorecard of a task; each version is read and parsed once in a batch."""
        key = task.scorecard_id, task.scorecard_version
        if key not in self._scorecards:
            with self._db.reading() as session:
                self._scorecards[key] = scorecards.version_of(session, *key).scorecard
        return self._scorecards[key]

    def _release(
        self, released: Sequence[Lease[EvaluationJob]], due_at: datetime, *, counts: bool
    ) -> None:
        with self._db.writing() as session:
            for lease in released:
                self._open.pop(lease.job_id)
                with suppress(LeaseLost):
                    judgements.release(session, lease, due_at, counts)

    def _renew(self) -> bool:
        with self._db.writing() as session:
            renewed = [leases.renew(session, lease) for lease, _ in list(self._open.values())]
        return any(renewed)
