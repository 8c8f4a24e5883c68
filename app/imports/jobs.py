"""The work on imports: read and check outside of any transaction, write in short ones."""

import io
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.core import stopping
from app.core.clock import utc_now
from app.core.errors import ServiceUnavailable
from app.core.leases import MAX_ATTEMPTS, PAUSE, TRIES_AFTER_FAILURE, LeaseLost
from app.core.runtime import Runtime, runtime
from app.imports import applying, preparing, service, sources
from app.imports.applying import Rehearsed
from app.imports.notebook import Notebook
from app.imports.options import Options
from app.imports.preparing import Prepared
from app.imports.service import Claim
from app.imports.sources import Document

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Outcome = TypeVar("Outcome")

_KEPT = timedelta(days=90)
_BETWEEN_BATCHES_S = 0.05


def run_import(import_id: str) -> None:
    """Work on this import, or on the one that waits longest; without any, do nothing.

    Safe to run twice: a claim is one process's alone, and the records that are counted are passed
    over by whoever comes next.
    """
    parts = runtime()
    with parts.db.writing() as session:
        claim = service.claim(session, import_id)
    if claim is None:
        return
    try:
        _Run(parts, claim).run()
    except LeaseLost:
        logger.warning("the import %s was taken over by another process", claim.import_id)
    if claim.import_id != import_id:
        parts.doorbell.ring(service.bell(import_id))


def due_ids(parts: Runtime) -> Sequence[str]:
    """List the imports that wait for a worker, or were left by one that has ended."""
    with parts.db.reading() as session:
        return service.due_ids(session)


def purge(parts: Runtime) -> None:
    """Forget imports that ended long ago, a few at a time."""
    before = utc_now() - _KEPT
    while _purge_once(parts, before):
        time.sleep(_BETWEEN_BATCHES_S)


def _purge_once(parts: Runtime, before: datetime) -> int:
    with parts.db.writing() as session:
        return service.purge(session, before=before)


class _Run:
    """One attempt at one import."""

    def __init__(self, parts: Runtime, claim: Claim) -> None:
        self._parts = parts
        self._claim = claim

    def run(self) -> None:
        """Do the work; every end but a lost lease is written to the row."""
        if self._claim.attempt > MAX_ATTEMPTS:
            message = "The work on this import was cut off too often; send the rest of it again."
            self._write(service.give_up, "INTERRUPTED", message)
            return
        try:
            self._work()
        except LeaseLost:
            raise
        except ServiceUnavailable as error:
            logger.warning("the import %s has to wait: %s", self._claim.import_id, error)
            self._write(service.put_down, due_at=utc_now() + PAUSE, counts=False)
        except Exception:  # the edge of the process: no import may hang half-way
            logger.exception("the work on the import %s failed", self._claim.import_id)
            self._end()

    def _work(self) -> None:
        task = self._write(service.begin)
        documents = _opened(task.format, task.documents)
        with Notebook() as notebook:
            found = preparing.prepared(
                sources.entries(documents, task.options), task.options, notebook
            )
            for batch in preparing.batches(islice(found, task.done, None)):
                if stopping.requested():
                    self._write(service.put_down, due_at=utc_now(), counts=False)
                    return
                self._apply(batch, task.options)
        self._write(service.finish)

    def _apply(self, batch: Sequence[Prepared], options: Options) -> None:
        """Write a batch and its counts at once; of a dry run only the counts stay."""
        try:
            with self._parts.db.writing() as session:
                tally = applying.apply(session, batch, options)
                service.note(session, self._claim, tally)
        except Rehearsed as rehearsal:
            self._write(service.note, rehearsal.tally)

    def _end(self) -> None:
        attempt = self._claim.attempt
        if attempt < TRIES_AFTER_FAILURE:
            due_at = utc_now() + attempt * PAUSE
            self._write(service.put_down, due_at=due_at, counts=True)
        else:
            message = "The work on this import failed on our side; send the rest of it again."
            self._write(service.give_up, "INTERNAL", message)

    def _write(
        self,
        step: Callable[Concatenate[Session, Claim, P], Outcome],
        *values: P.args,
        **named: P.kwargs,
    ) -> Outcome:
        with self._parts.db.writing() as session:
            return step(session, self._claim, *values, **named)


def _opened(name: str, documents: Sequence[Mapping[str, str | None]]) -> Iterator[Document]:
    for each in documents:
        content = io.BytesIO((each["content"] or "").encode())
        yield Document(name, content, each["externalId"])
