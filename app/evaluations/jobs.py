"""The judgement of what is written down already: outside of any transaction, written in short ones."""

import logging
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.ai.embedded import EmbeddedJudge
from app.core import stopping
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.lease_keeper import LeaseKeeper
from app.core.leases import MAX_ATTEMPTS, PAUSE, RENEW_EVERY_S, TRIES_AFTER_FAILURE, LeaseLost
from app.core.runtime import Runtime, runtime
from app.evaluations import judging, transcripts
from app.evaluations.judging import Claim
from app.evaluations.vocabulary import ErrorCode
from app.scorecards import service as scorecards

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Outcome = TypeVar("Outcome")


def judge(job_id: str = "") -> None:
    """Make the judgements that are due, this one first, until none is left.

    Safe to run twice: a claim is one process's alone, and who has lost it writes nothing.
    """
    parts = runtime()
    while not stopping.requested():
        with parts.db.writing() as session:
            claim = judging.claim(session, job_id)
        if claim is None:
            return
        try:
            _Run(parts, claim).run()
        except LeaseLost:
            logger.warning("the judgement %s was taken over", claim.evaluation_id)


def due_ids(parts: Runtime) -> Sequence[str]:
    """List the judgements that wait for a worker, or were left by one (for the sweep)."""
    with parts.db.reading() as session:
        return judging.due_ids(session)


class _Run:
    """One attempt at one judgement."""

    def __init__(self, parts: Runtime, claim: Claim) -> None:
        self._parts = parts
        self._claim = claim
        self._keeper = LeaseKeeper(lambda: self._write(judging.renew), RENEW_EVERY_S)

    def run(self) -> None:
        """Do the work; every end but a lost lease is written to the rows."""
        if self._claim.attempt > MAX_ATTEMPTS:
            self._give_up("The judgement was cut off too often; ask for it again.")
            return
        try:
            with self._keeper:
                self._work()
        except LeaseLost:
            raise
        except NotFound as error:
            self._give_up(error.message)
        except Exception:  # the edge of the process: no evaluation may hang half-way
            logger.exception("the judgement %s failed", self._claim.evaluation_id)
            self._try_later()

    def _work(self) -> None:
        task = self._write(judging.begin)
        if task is None:
            return
        with self._parts.db.reading() as session:
            transcript = transcripts.load_stored(session, task.transcript_id)
            scorecard = scorecards.version_of(
                session, task.scorecard_id, task.scorecard_version
            ).scorecard
        judgement = EmbeddedJudge().judge(transcript, scorecard, task.context)
        self._write(judging.finish, transcript, judgement)

    def _try_later(self) -> None:
        attempt = self._claim.attempt
        if attempt < TRIES_AFTER_FAILURE:
            self._write(judging.put_down, due_at=utc_now() + attempt * PAUSE)
        else:
            self._give_up("The judgement failed on our side.")

    def _give_up(self, message: str) -> None:
        self._write(judging.give_up, ErrorCode.INTERNAL, message)

    def _write(
        self,
        step: Callable[Concatenate[Session, Claim, P], Outcome],
        *values: P.args,
        **named: P.kwargs,
    ) -> Outcome:
        with self._parts.db.writing() as session:
            return step(session, self._claim, *values, **named)
