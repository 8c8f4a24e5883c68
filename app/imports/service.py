"""Imports over the API: create, count, end, show and delete."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import Session, defer

from app.campaigns import service as campaigns
from app.core.clock import utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.core.secrets.encryption import Keyring
from app.core.settings import Settings
from app.core.storage.files import require_space
from app.evaluations import sources
from app.events.catalogue import EventType
from app.events.data import ConversationFailed
from app.events.outbox import publish
from app.imports import kept_presets, sealed_documents
from app.imports.loading.input import ImportOptions
from app.imports.loading.load import ImportCounts, first_errors
from app.imports.models import Import
from app.imports.sealed_documents import Documents
from app.scorecards import service as scorecards

QUEUE = "imports"
bell = partial(Bell, QUEUE)
# How long the input of a dry run waits to be confirmed, and that of a failed import to be tried again.
INPUT_KEPT_FOR = timedelta(hours=1)
_HAS_INPUT = or_(Import.sealed_documents.is_not(None), Import.file_id.is_not(None))
# Codes of failures that the input has not caused.
_RETRYABLE = ("INTERRUPTED", "INTERNAL")
# Disk space for the documents of one import in the database.
_DOCUMENTS_BYTES = 1024 * 1024

_SORTABLE = {"created_at": Import.queued_at}
_COMPLETED, _COMPLETED_WITH_ERRORS = "completed", "completed_with_errors"


@dataclass(frozen=True, slots=True)
class ImportTask:
    """The documents or the file and the options of an import, and the number of loaded records."""

    format: str
    documents: Documents
    file_id: str | None
    file_name: str
    options: ImportOptions
    done: int


def create(
    session: Session,
    keyring: Keyring,
    *,
    format: str,
    documents: Documents,
    options: ImportOptions,
    file_id: str | None = None,
    file_name: str | None = None,
) -> dict[str, Any]:
    """Store an import of documents, or of a stored file, and queue it.

    Raises:
        InvalidInput: a default or the scorecard does not exist.
    """
    options = resolved(session, options)
    import_id = new_id("imp")
    row = Import(
        id=import_id,
        format=format,
        sealed_documents=(
            None if file_id else sealed_documents.seal(keyring, import_id, documents)
        ),
        file_id=file_id,
        file_name=file_name,
        options=asdict(options),
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, bell(row.id))
    return _record(row)


def record_run(
    session: Session,
    *,
    format: str,
    source: str,
    options: ImportOptions,
    counts: ImportCounts,
    started_at: datetime,
) -> None:
    """Record what the command has imported, as an import that has ended."""
    session.add(
        Import(
            id=new_id("imp"),
            state=JobState.SUCCEEDED,
            format=format,
            file_name=source,
            options=asdict(options),
            errors=counts.errors,
            queued_at=started_at,
            started_at=started_at,
            completed_at=utc_now(),
            **counts.as_dict(),
        )
    )


def resolved(session: Session, options: ImportOptions) -> ImportOptions:
    """Return the options with what their preset says.

    Raises:
        InvalidInput: a default, the scorecard or the preset does not exist.
    """
    options = kept_presets.applied(session, options)
    ids = {
        reference.column: options.defaults.get(reference.field) for reference in sources.REFERENCES
    }
    try:
        sources.resolve(session, ids)
    except InvalidInput as error:
        detail = error.details[0]
        raise InvalidInput.field(f"defaults.{detail['field']}", detail["message"]) from error
    scorecards.require(session, options.scorecard_id)
    return options


def get(session: Session, import_id: str) -> dict[str, Any]:
    row = find_row(session, Import, import_id, "import")
    return _record(row)


def list_page(
    session: Session, request: PageRequest, *, status: Sequence[str] = ()
) -> Page[dict[str, Any]]:
    """Return a page of imports, newest first by default, in these states or all."""
    statement = select(Import).options(defer(Import.sealed_documents))
    if status:
        statement = statement.where(or_(*(_has_status(name) for name in status)))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=Import.id)
    return replace(page, items=[_record(row["Import"]) for row in page.items])


def require_disk_space(settings: Settings) -> None:
    """Raise `DiskFull` if the disk of the database is too full for another import."""
    require_space(settings.data_dir, _DOCUMENTS_BYTES, settings.min_free_bytes)


def proceed(session: Session, keyring: Keyring, import_id: str) -> dict[str, Any]:
    """Import what a dry run has read, as a new import; or continue a failed import.

    A failed import continues after the records that it has counted.
    """
    row = find_row(session, Import, import_id, "import", for_update=True)
    has_failed = row.state == JobState.FAILED
    options = ImportOptions(**row.options)
    if not has_failed and not (options.dry_run and row.state == JobState.SUCCEEDED):
        raise Conflict(
            "Only a dry run that has ended can be imported, and only a failed import continued."
        )
    _require_input(row)
    if has_failed:
        return _try_again(session, row)
    return _with_other_options(session, keyring, row, replace(options, dry_run=False))


def check_again(
    session: Session, keyring: Keyring, import_id: str, options: ImportOptions
) -> dict[str, Any]:
    """Start another dry run of the input of a dry run that has ended; it takes that input over."""
    row = find_row(session, Import, import_id, "import", for_update=True)
    task_of_dry_run(session, keyring, import_id)
    return _with_other_options(session, keyring, row, options)


def _require_input(row: Import) -> None:
    if row.sealed_documents is None and row.file_id is None:
        raise Conflict(
            "This import was already confirmed (see GET /imports), or its documents are deleted: "
            "then send them again."
        )


def _with_other_options(
    session: Session, keyring: Keyring, row: Import, options: ImportOptions
) -> dict[str, Any]:
    """Create an import of the input of another one, which forgets it."""
    documents = sealed_documents.unseal(keyring, row.id, row.sealed_documents)
    file_id = row.file_id
    _forget_input(row)
    return create(
        session,
        keyring,
        format=row.format,
        documents=documents,
        options=options,
        file_id=file_id,
        file_name=row.file_name,
    )


def _try_again(session: Session, row: Import) -> dict[str, Any]:
    row.error = row.started_at = row.completed_at = None
    row.attempts = 0
    leases.requeue(row, due_at=utc_now(), counts=True)
    ring_after_commit(session, bell(row.id))
    return _record(row)


def start(session: Session, lease: Lease[Import], keyring: Keyring) -> ImportTask:
    return _task_of(leases.held(session, lease), keyring)


def task_of_dry_run(session: Session, keyring: Keyring, import_id: str) -> ImportTask:
    """Return the task of a dry run that has ended and keeps its input."""
    row = find_row(session, Import, import_id, "import")
    _require_input(row)
    if not ImportOptions(**row.options).dry_run or row.completed_at is None:
        raise Conflict("Only the file of a dry run that has ended can be checked again.")
    return _task_of(row, keyring)


def _task_of(row: Import, keyring: Keyring) -> ImportTask:
    documents = sealed_documents.unseal(keyring, row.id, row.sealed_documents)
    return ImportTask(
        row.format,
        documents,
        row.file_id,
        row.file_name or "",
        ImportOptions(**row.options),
        row.received,
    )


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
    """End the import and delete its documents; those of a dry run wait to be confirmed."""
    row = leases.held(session, lease)
    if not ImportOptions(**row.options).dry_run:
        _forget_input(row)
    leases.end(row, JobState.SUCCEEDED, utc_now())


def _forget_input(row: Import) -> None:
    """Delete the documents, and leave the file to the worker, which deletes what no row names."""
    row.sealed_documents = row.file_id = None


def fail(session: Session, lease: Lease[Import], code: str, message: str) -> None:
    """End the import as failed; loaded records stay, its documents only if it can be tried again."""
    row = leases.held(session, lease)
    if code not in _RETRYABLE:
        _forget_input(row)
    row.error = {"code": code, "message": message}
    leases.end(row, JobState.FAILED, utc_now())
    defaults = ImportOptions(**row.options).defaults
    data = ConversationFailed(
        source_type="import",
        source_id=row.id,
        evaluation_id=None,
        engagement_id=defaults.get("engagementId", ""),
        campaign=campaigns.name_of(session, defaults.get("campaignId")) or "",
        code=code,
        message=message,
    )
    publish(session, EventType.CONVERSATION_FAILED, data)


def forget_documents(session: Session, *, before: datetime) -> Sequence[str]:
    """Delete the documents of dry runs and failed imports that ended before a time.

    Return the ids of their files, which the caller deletes after the commit.
    """
    # Locked, so that none of them is tried again meanwhile.
    rows = session.execute(
        select(Import.id, Import.file_id)
        .where(Import.completed_at < before, _HAS_INPUT)
        .with_for_update()
    ).all()
    session.execute(
        update(Import)
        .where(Import.id.in_([row.id for row in rows]))
        .values(sealed_documents=None, file_id=None)
    )
    return [row.file_id for row in rows if row.file_id is not None]


def erase_older(session: Session, *, before: datetime) -> None:
    """Delete all input from before an erasure of a restored database: its record names no customer."""
    rows = select(Import).where(Import.queued_at < before, _HAS_INPUT)
    for row in session.scalars(rows.with_for_update()):
        _forget_input(row)
        if row.completed_at is None:
            row.error = {
                "code": "ERASED",
                "message": "This waited when the backup was made, and customers were erased since "
                "then: send again what is not of them.",
            }
            leases.end(row, JobState.FAILED, utc_now())


def _record(row: Import) -> dict[str, Any]:
    options = ImportOptions(**row.options)
    return {
        "id": row.id,
        "status": _status(row),
        "format": row.format,
        "file_name": row.file_name,
        "evaluate": options.evaluate,
        "on_conflict": options.on_conflict,
        "dry_run": options.dry_run,
        "counts": {name: getattr(row, name) for name in ImportCounts().as_dict()},
        "errors": row.errors,
        "error": row.error,
        "may_retry": _may_retry(row),
        "may_map": _may_map(row, options),
        "created_at": row.queued_at,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
    }


def _may_retry(row: Import) -> bool:
    """Return whether a failed import keeps its input, without reading that."""
    if row.error is None or row.completed_at is None:
        return False
    return row.error["code"] in _RETRYABLE and row.completed_at > utc_now() - INPUT_KEPT_FOR


def _may_map(row: Import, options: ImportOptions) -> bool:
    """Return whether the input is a table that a dry run keeps for an hour, without reading it."""
    if not options.dry_run or row.completed_at is None or row.format not in ("csv", "auto"):
        return False
    return row.completed_at > utc_now() - INPUT_KEPT_FOR


def _status(row: Import) -> str:
    if row.state == JobState.SUCCEEDED:
        return _COMPLETED_WITH_ERRORS if row.failed else _COMPLETED
    return str(row.state)


def _has_status(status: str) -> ColumnElement[bool]:
    """Match what `_status` returns."""
    if status in (_COMPLETED, _COMPLETED_WITH_ERRORS):
        has_errors = Import.failed > 0 if status == _COMPLETED_WITH_ERRORS else Import.failed == 0
        return and_(Import.state == JobState.SUCCEEDED, has_errors)
    return Import.state == status
