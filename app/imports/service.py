"""Imports: request, claim, progress, end and view."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import InvalidInput, NotFound
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.core.secrets.encryption import Keyring
from app.evaluations import references
from app.imports import names, sealed_documents
from app.imports.models import Import
from app.imports.options import Options
from app.imports.sealed_documents import Documents
from app.imports.tally import Tally, first_errors, shown_counts
from app.scorecards import service as scorecards

QUEUE = "imports"


@dataclass(frozen=True, slots=True)
class Task:
    """What came in, how it is to be taken, and how many records are done."""

    format: str
    documents: Documents
    options: Options
    done: int


def bell(import_id: str) -> Bell:
    """Return the bell that tells a worker of an import."""
    return Bell(QUEUE, import_id)


def start(
    session: Session,
    keyring: Keyring,
    *,
    format: str,
    documents: Documents,
    options: Options,
) -> dict[str, Any]:
    """Keep what came in and queue the work on it.

    Raises:
        InvalidInput: the defaults or the scorecard are not there.
    """
    require(session, options)
    now = utc_now()
    import_id = new_id("imp")
    row = Import(
        id=import_id,
        format=format,
        sealed_documents=sealed_documents.seal(keyring, import_id, documents),
        options=options.document(),
        due_at=now,
        queued_at=now,
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, bell(row.id))
    return _record(row)


def require(session: Session, options: Options) -> None:
    """Refuse defaults and a scorecard that are not there.

    Raises:
        InvalidInput: naming the field.
    """
    ids = {each.column: options.defaults.get(each.id_field) for each in names.FIELDS.values()}
    try:
        references.require(session, ids)
    except InvalidInput as error:
        found = error.details[0]
        raise InvalidInput.field(f"defaults.{found['field']}", found["message"]) from error
    if options.scorecard_id is not None:
        try:
            scorecards.get(session, options.scorecard_id)
        except NotFound as error:
            raise InvalidInput.field("scorecardId", "There is no such scorecard.") from error


def get(session: Session, import_id: str) -> dict[str, Any]:
    """Show an import; `NotFound` where there is none."""
    row = session.get(Import, import_id)
    if row is None:
        raise NotFound("There is no such import.")
    return _record(row)


def claim(session: Session, import_id: str) -> Lease[Import] | None:
    """Take this import, or the one that waits longest; None when there is nothing to do."""
    return leases.claim(session, Import, import_id)


def begin(session: Session, lease: Lease[Import], keyring: Keyring) -> Task:
    """Read what there is to do."""
    row = leases.held(session, lease)
    documents = sealed_documents.unseal(keyring, row.id, row.sealed_documents)
    return Task(row.format, documents, Options.of(row.options), row.received)


def note(session: Session, lease: Lease[Import], tally: Tally) -> None:
    """Count a batch, in the transaction that wrote it; what moves on is not given up."""
    row = leases.held(session, lease)
    row.received += tally.received
    for outcome, number in tally.counts.items():
        setattr(row, outcome, getattr(row, outcome) + number)
    row.evaluations_queued += tally.evaluations_queued
    row.errors = first_errors(row.errors, tally.errors)
    row.attempts = 1
    row.lease_until = utc_now() + leases.LEASE


def finish(session: Session, lease: Lease[Import]) -> None:
    """End the import; what came in is not kept any longer."""
    row = leases.held(session, lease)
    row.sealed_documents = None
    leases.end(row, JobState.SUCCEEDED, utc_now())


def fail(session: Session, lease: Lease[Import], code: str, message: str) -> None:
    """End the import without the rest of its records."""
    row = leases.held(session, lease)
    row.sealed_documents = None
    row.error = {"code": code, "message": message}
    leases.end(row, JobState.FAILED, utc_now())


def purge(session: Session, *, before: datetime, limit: int = 500) -> int:
    """Forget imports that ended before this moment; return how many."""
    old = (
        select(Import.id)
        .where(Import.completed_at < before)
        .order_by(Import.completed_at, Import.id)
        .limit(limit)
    )
    gone = session.execute(delete(Import).where(Import.id.in_(old)).returning(Import.id))
    return len(gone.all())


def _record(row: Import) -> dict[str, Any]:
    options = Options.of(row.options)
    return {
        "id": row.id,
        "status": _status(row),
        "format": row.format,
        "evaluate": options.evaluate,
        "on_conflict": options.on_conflict,
        "dry_run": options.dry_run,
        "counts": shown_counts(
            received=row.received or 0,
            created=row.created or 0,
            updated=row.updated or 0,
            skipped=row.skipped or 0,
            failed=row.failed or 0,
            evaluations_queued=row.evaluations_queued or 0,
        ),
        "errors": row.errors or [],
        "error": row.error,
        "created_at": row.queued_at,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
    }


def _status(row: Import) -> str:
    if row.state == JobState.SUCCEEDED:
        return "completed_with_errors" if row.failed else "completed"
    return str(row.state)
