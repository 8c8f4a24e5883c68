"""The frame of the work on a leased job: claimed, kept while it goes on, ended or put down again."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Concatenate, Generic, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.jobs import leases
from app.core.jobs.lease_renewal import LeaseKeeper
from app.core.jobs.leases import (
    MAX_ATTEMPTS,
    PAUSE,
    RENEW_EVERY_S,
    TRIES_AFTER_FAILURE,
    Job,
    Lease,
    LeaseLost,
)
from app.core.process import stopping
from app.core.process.stopping import Stopped
from app.core.runtime import Runtime

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Outcome = TypeVar("Outcome")

_PROGRESS_EVERY_S = 0.5


class Interrupted(Exception):
    """The work was cut off too often to be begun once more."""


class LeasedWork(ABC, Generic[Job]):
    """One attempt at one job: the room says what is done, and how the job ends without it.

    `work` runs outside of any transaction; it writes with `write`, the end of the job as well.
    When it raises `Stopped` or `ServiceUnavailable`, the job is put down and the attempt does not
    count. After any other exception the job is tried again up to three times and then given up.
    Who has lost the lease writes nothing more.
    """

    def __init__(self, runtime: Runtime, lease: Lease[Job]) -> None:
        self.runtime = runtime
        self.lease = lease
        self._keeper = LeaseKeeper(lambda: self.write(leases.renew), RENEW_EVERY_S)
        self._told, self._told_at = 0, time.monotonic()

    @abstractmethod
    def work(self) -> None:
        """Do the work and end the job."""

    @abstractmethod
    def give_up(self, error: Exception) -> None:
        """End the job without its work, because of this error: `Interrupted`, or one of `work`."""

    def is_final(self, error: Exception) -> bool:
        """Whether another attempt could only end in the same way."""
        return False

    def put_down(self, session: Session, *, due_at: datetime, counts: bool) -> None:
        """Leave the job to a later attempt (see `leases.put_down`)."""
        leases.put_down(session, self.lease, due_at=due_at, counts=counts)

    def run(self) -> None:
        """Make the attempt; every end but a lost lease is written to the rows."""
        try:
            if self.lease.attempt > MAX_ATTEMPTS:
                self.give_up(Interrupted())
            else:
                self._attempt()
        except LeaseLost:
            logger.warning("the work on %s is no longer ours", self.lease.job_id)

    def write(
        self,
        step: Callable[Concatenate[Session, Lease[Job], P], Outcome],
        *values: P.args,
        **named: P.kwargs,
    ) -> Outcome:
        """Take a step in a transaction of its own; a step begins with `leases.held`."""
        with self.runtime.db.writing() as session:
            return step(session, self.lease, *values, **named)

    def tell(self, percent: int) -> None:
        """Write the job's `progress`, at most twice a second; a busy database does not matter.

        This is also how the work learns soon that its lease is gone.
        """
        now = time.monotonic()
        if percent > self._told and now - self._told_at >= _PROGRESS_EVERY_S:
            self._told, self._told_at = percent, now
            with suppress(ServiceUnavailable):
                self._keeper.lost = not self.write(leases.note, progress=percent)

    @property
    def must_end(self) -> bool:
        """Whether the work is to end early; long work asks at every step."""
        return self._keeper.lost or stopping.requested()

    def require_going_on(self) -> None:
        """Raise `LeaseLost` or `Stopped` when the work is to end early."""
        if self._keeper.lost:
            raise LeaseLost(self.lease.job_id)
        if stopping.requested():
            raise Stopped

    def _attempt(self) -> None:
        try:
            with self._keeper:
                self.work()
        except LeaseLost:
            raise
        except Stopped:
            self._leave(due_at=utc_now(), counts=False)
        except ServiceUnavailable as error:
            logger.warning("the work on %s has to wait: %s", self.lease.job_id, error)
            self._leave(due_at=utc_now() + PAUSE, counts=False)
        except Exception as error:  # the edge of the process: no job may hang half-way
            logger.exception("the work on %s failed", self.lease.job_id)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        attempt = self.lease.attempt
        if self.is_final(error) or attempt >= TRIES_AFTER_FAILURE:
            self.give_up(error)
        else:
            self._leave(due_at=utc_now() + attempt * PAUSE, counts=True)

    def _leave(self, *, due_at: datetime, counts: bool) -> None:
        with self.runtime.db.writing() as session:
            self.put_down(session, due_at=due_at, counts=counts)


def take(
    runtime: Runtime,
    job_id: str,
    claim: Callable[[Session, str], Lease[Job] | None],
    attempt: Callable[[Runtime, Lease[Job]], LeasedWork[Job]],
) -> Lease[Job] | None:
    """Claim this job, or another that is due, and make one attempt at it; return what was claimed.

    Safe to run twice: a claim is one process's alone, and who has lost it writes nothing.
    """
    with runtime.db.writing() as session:
        lease = claim(session, job_id)
    if lease is not None:
        attempt(runtime, lease).run()
    return lease
