"""The work on exports: rows are read in short transactions and written into a file beside them."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.analytics import exporting
from app.analytics.datasets import catalogue
from app.analytics.formats.writers import TooManyRows, open_writer
from app.analytics.models import ExportJob
from app.analytics.wishes import Wish
from app.core import leases, stopping
from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.lease_keeper import LeaseKeeper
from app.core.leases import MAX_ATTEMPTS, PAUSE, RENEW_EVERY_S, TRIES_AFTER_FAILURE, LeaseLost
from app.core.runtime import Runtime
from app.core.storage import StoredObject

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Outcome = TypeVar("Outcome")

_PROGRESS_EVERY_S = 0.5


class _Stopped(Exception):
    """The process was asked to end."""


def work(parts: Runtime, job_id: str = "") -> None:
    """Work on this export or on one that is due, and go on until none is left.

    Safe to run twice: a claim is one process's alone, and a file is offered only when it is whole.
    """
    while not stopping.requested():
        with parts.db.writing() as session:
            claimed = exporting.claim(session, job_id, utc_now())
        if claimed is None:
            return
        job, left = claimed
        try:
            _Run(parts, job).run(left)
        except LeaseLost:
            logger.warning("the export %s was taken over by another process", job.id)


class _Run:
    """One attempt at one export."""

    def __init__(self, parts: Runtime, job: ExportJob) -> None:
        self._parts = parts
        self._job = job
        self._token = str(job.lease_token)
        self._keeper = LeaseKeeper(self._renew, RENEW_EVERY_S)
        self._told_at = time.monotonic()
        self._told = 0

    def run(self, left: str | None) -> None:
        """Do the work; every end but a lost lease is written to the row."""
        if left is not None:
            self._parts.storage.delete(left)
        if self._job.attempts > MAX_ATTEMPTS:
            self._fail("INTERRUPTED", "The export was interrupted too often.")
            return
        try:
            with self._keeper:
                stored, row_count = self._work()
            self._write(exporting.finish, stored=stored, row_count=row_count)
        except LeaseLost:
            self._parts.storage.delete(str(self._job.object_id))
            raise
        except _Stopped:
            self._put_down(counts=False)
        except TooManyRows:
            self._fail("TOO_MANY_ROWS", "The format cannot hold so many rows: take csv or parquet.")
        except Exception:  # the edge of the process: no export may hang half-way
            logger.exception("the export %s failed", self._job.id)
            if self._job.attempts < TRIES_AFTER_FAILURE:
                self._put_down(counts=True)
            else:
                self._fail("INTERNAL", "The export failed on our side.")

    def _work(self) -> tuple[StoredObject, int]:
        wish = exporting.wish_of(self._job)
        spool = self._parts.settings.data_dir / "spool"
        spool.mkdir(mode=0o700, exist_ok=True)
        for old in spool.glob(f"{self._job.id}.*"):
            old.unlink(missing_ok=True)
        path = spool / f"{self._job.id}.{self._token[:12]}"
        listing = path.with_name(path.name + ".ids")
        try:
            row_count = self._write_rows(wish, path, listing)
            with path.open("rb") as file:
                stored = self._parts.storage.write(
                    str(self._job.object_id), file, size_bytes=path.stat().st_size
                )
        finally:
            path.unlink(missing_ok=True)
            listing.unlink(missing_ok=True)
        return stored, row_count

    def _write_rows(self, wish: Wish, path: Path, listing: Path) -> int:
        columns = catalogue.columns_of(wish)
        writer = open_writer(wish.format, path, columns, delimiter=wish.delimiter)
        row_count = 0
        try:
            for batch in catalogue.batches(self._parts.db, wish, listing):
                self._require_going_on()
                writer.write(batch.rows)
                row_count += len(batch.rows)
                self._tell(batch.done)
        finally:
            writer.close()
        return row_count

    def _require_going_on(self) -> None:
        if self._keeper.lost:
            raise LeaseLost(self._job.id)
        if stopping.requested():
            raise _Stopped

    def _tell(self, done: float) -> None:
        """Write the progress, at most twice a second; the database's moods do not stop the work."""
        now, percent = time.monotonic(), int(done * 99)
        if percent > self._told and now - self._told_at >= _PROGRESS_EVERY_S:
            self._told, self._told_at = percent, now
            with suppress(ServiceUnavailable), self._parts.db.writing() as session:
                leases.note(session, ExportJob, self._job.id, self._token, progress=percent)

    def _renew(self) -> bool:
        with self._parts.db.writing() as session:
            return leases.renew(session, ExportJob, self._job.id, self._token)

    def _put_down(self, *, counts: bool) -> None:
        with self._parts.db.writing() as session:
            job = leases.held(session, ExportJob, self._job.id, self._token)
            due_at = utc_now() + (PAUSE * job.attempts if counts else PAUSE * 0)
            leases.put_down(job, due_at=due_at, counts=counts)

    def _fail(self, code: str, message: str) -> None:
        self._write(exporting.fail, code=code, message=message)

    def _write(
        self,
        step: Callable[Concatenate[Session, str, str, P], Outcome],
        *values: P.args,
        **named: P.kwargs,
    ) -> Outcome:
        with self._parts.db.writing() as session:
            return step(session, self._job.id, self._token, *values, **named)
