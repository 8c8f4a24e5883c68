"""The judgement of what is written down already: outside of any transaction, written in short ones."""

import logging
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from app.ai.judge import Judge
from app.ai.judges import build_judge, requests_at_once
from app.core.errors import NotFound, ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.leases import Lease
from app.core.jobs.runner import Interrupted, LeasedWork, take
from app.core.jobs.thread_pool import work_through
from app.core.runtime import Runtime
from app.web.current import current_runtime
from app.evaluations.enums import ErrorCode
from app.evaluations.judging import bulk, judgements
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.models import EvaluationJob
from app.evaluations.transcripts import store as transcripts
from app.scorecards import service as scorecards

logger = logging.getLogger(__name__)


def judge(job_id: str = "") -> None:
    """Make the judgements that are due, this one first, until none is left.

    The next few of a re-evaluation of many are taken on when nothing else is due.
    """
    runtime = current_runtime()
    engine = build_judge(runtime.settings, StoredAnswers(runtime.db))

    def attempt(runtime: Runtime, lease: Lease[EvaluationJob]) -> _Judgement:
        return _Judgement(runtime, lease, engine)

    def take_one() -> bool:
        return bool(take(runtime, job_id, judgements.claim, attempt)) or _take_on(runtime)

    work_through(take_one, at_once=requests_at_once(runtime.settings))


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the judgements that wait for a worker, or were left by one (for the sweep)."""
    with runtime.db.reading() as session:
        due = leases.due_ids(session, EvaluationJob)
        waiting = bulk.next_id(session)
    return [*due, waiting] if waiting else due


def _take_on(runtime: Runtime) -> bool:
    """Open the next judgements of a re-evaluation; False when none waits or none could be opened."""
    with runtime.db.reading() as session:
        waiting = bulk.next_id(session)
    if waiting is None:
        return False
    try:
        with runtime.db.writing() as session:
            return bulk.take_on(session, waiting)
    except ServiceUnavailable as error:
        logger.warning("the re-evaluation %s has to wait: %s", waiting, error)
    except Exception:  # the edge of the process: no re-evaluation may hang half-way
        logger.exception("the work on the re-evaluation %s failed", waiting)
        with runtime.db.writing() as session:
            bulk.note_failure(session, waiting)
    return False


class _Judgement(LeasedWork[EvaluationJob]):
    def __init__(self, runtime: Runtime, lease: Lease[EvaluationJob], judge: Judge) -> None:
        super().__init__(runtime, lease)
        self._judge = judge

    def work(self) -> None:
        task = self.write(judgements.begin)
        if task is None:
            return
        with self.runtime.db.reading() as session:
            transcript = transcripts.load_stored(session, task.transcript_id)
            scorecard = scorecards.version_of(
                session, task.scorecard_id, task.scorecard_version
            ).scorecard
        judgement = self._judge.judge(
            transcript, scorecard, task.context, should_stop=lambda: self.must_end
        )
        self.write(judgements.finish, transcript, judgement)

    def is_final(self, error: Exception) -> bool:
        return isinstance(error, NotFound)

    def give_up(self, error: Exception) -> None:
        message = "The judgement failed on our side."
        if isinstance(error, Interrupted):
            message = "The judgement was cut off too often; ask for it again."
        if isinstance(error, NotFound):
            message = error.message
        self.write(judgements.give_up, ErrorCode.INTERNAL, message)

    def put_down(self, session: Session, *, due_at: datetime, counts: bool) -> None:
        judgements.put_down(session, self.lease, due_at=due_at, counts=counts)
