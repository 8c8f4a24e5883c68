"""Imports over the API: create, claim, count, end, show and delete."""

from collections.abc import Sequence
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
from app.evaluations.enums import ENDED
from app.evaluations.models import Evaluation
from app.imports import sealed_documents
from app.imports.loading.import_counts import ImportCounts, first_errors
from app.imports.loading.named_references import NAMED_REFERENCES
from app.imports.loading.record_writers import require_scorecard
from app.imports.models import Import
from app.imports.options import ImportOptions
from app.imports.sealed_documents import Documents

QUEUE = "imports"


@dataclass(frozen=True, slots=True)
class ImportTask:
    """The documents and options of an import, and the number of records already loaded."""

    format: str
    documents: Documents
    options: ImportOptions
    done: int


def bell(import_id: str) -> Bell:
    """Return the bell that tells a worker of an import."""
    return Bell(QUEUE, import_id)


def create(
    session: Session,
    keyring: Keyring,
    *,
    format: str,
    documents: Documents,
    options: ImportOptions,
) -> dict[str, Any]:
    """Store an import and queue it.

    Raises:
        InvalidInput: a default or the scorecard does not exist.
    """
    require_references(session, options)
    now = utc_now()
    import_id = new_id("imp")
    row = Import(
        id=import_id,
        format=format,
        sealed_documents=sealed_documents.seal(keyring, import_id, documents),
        options=options.as_document(),
        due_at=now,
        queued_at=now,
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, bell(row.id))
    return _record(row)


def require_references(session: Session, options: ImportOptions) -> None:
    """Check that the default references and the scorecard exist.

    Raises:
        InvalidInput: naming the field.
    """
    ids = {
        reference.column: options.defaults.get(reference.id_field)
        for reference in NAMED_REFERENCES.values()
    }
    try:
        references.require(session, ids)
    except InvalidInput as error:
        detail = error.details[0]
        raise InvalidInput.field(f"defaults.{detail['field']}", detail["message"]) from error
    require_scorecard(session, options.scorecard_id)


def get(session: Session, import_id: str) -> dict[str, Any]:
    """Return an import.

    Raises:
        NotFound: there is no such import.
    """
    row = session.get(Import, import_id)
    if row is None:
        raise NotFound("There is no such import.")
    return _record(row)


def claim(session: Session, import_id: str) -> Lease[Import] | None:
    """Claim this import, or the one that waits longest; None if none waits."""
    return leases.claim(session, Import, import_id)


def start(session: Session, lease: Lease[Import], keyring: Keyring) -> ImportTask:
    """Return the task of a claimed import."""
    row = leases.held(session, lease)
    documents = sealed_documents.unseal(keyring, row.id, row.sealed_documents)
    return ImportTask(row.format, documents, ImportOptions.from_document(row.options), row.received)


def add_counts(session: Session, lease: Lease[Import], counts: ImportCounts) -> None:
    """Add the counts of a batch in the transaction that wrote it, and renew the lease.

    Progress resets the attempts: only an import that stays at one batch is given up.
    """
    row = leases.held(session, lease)
    for column, number in counts.as_dict().items():
        setattr(row, column, getattr(row, column) + number)
    row.errors = first_errors(row.errors, counts.errors)
    row.attempts = 1
    row.lease_until = utc_now() + leases.LEASE


def finish(session: Session, lease: Lease[Import]) -> None:
    """End the import and delete its documents."""
    row = leases.held(session, lease)
    row.sealed_documents = None
    leases.end(row, JobState.SUCCEEDED, utc_now())


def fail(session: Session, lease: Lease[Import], code: str, message: str) -> None:
    """End the import as failed and delete its documents; loaded records stay."""
    row = leases.held(session, lease)
    row.sealed_documents = None
    row.error = {"code": code, "message": message}
    leases.end(row, JobState.FAILED, utc_now())


def purge(session: Session, *, before: datetime, limit: int = 500) -> int:
    """Delete imports that ended before a time; return how many."""
    old = (
        select(Import.id)
        .where(Import.completed_at < before)
        .order_by(Import.completed_at, Import.id)
        .limit(limit)
    )
    deleted = session.scalars(delete(Import).where(Import.id.in_(old)).returning(Import.id))
    return len(deleted.all())


def ended_evaluations(session: Session, evaluation_ids: Sequence[str]) -> list[str]:
    """Return the evaluations that have ended or were deleted."""
    running = set(
        session.scalars(
            select(Evaluation.id).where(
                Evaluation.id.in_(evaluation_ids), Evaluation.status.not_in(ENDED)
            )
        )
    )
    return [evaluation_id for evaluation_id in evaluation_ids if evaluation_id not in running]


def _record(row: Import) -> dict[str, Any]:
    options = ImportOptions.from_document(row.options)
    return {
        "id": row.id,
        "status": _status(row),
        "format": row.format,
        "evaluate": options.evaluate,
        "on_conflict": options.on_conflict,
        "dry_run": options.dry_run,
        "counts": {name: getattr(row, name) for name in ImportCounts().as_dict()},
        "errors": row.errors,
        "error": row.error,
        "created_at": row.queued_at,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
    }


def _status(row: Import) -> str:
    if row.state == JobState.SUCCEEDED:
        return "completed_with_errors" if row.failed else "completed"
    return str(row.state)
