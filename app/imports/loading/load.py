"""Loading of a batch: writes its records, for API requests, files and the demo alike."""

import logging
from collections.abc import Sequence
from itertools import groupby

from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from app.conversations import service as conversations
from app.conversations.service import GivenConversation
from app.core.database.transaction_lock import one_at_a_time
from app.core.errors import AppError, Conflict, InvalidInput, NotFound
from app.imports.formats.records import BadLine, Fault, Kind
from app.imports.loading.import_counts import ImportCounts, RecordOutcome
from app.imports.loading.named_references import NameResolver
from app.imports.loading.normalise import (
    LoadableRecord,
    NormalisedRecord,
    RefusedRecord,
    ValidRecord,
    summary_of,
)
from app.imports.loading.record_writers import EVALUATION_REQUESTS, WRITERS
from app.imports.options import SKIP, ImportOptions

logger = logging.getLogger(__name__)


class DryRunRollback(Exception):
    """Rolls the transaction of a dry run back; carries the counts."""

    def __init__(self, counts: ImportCounts) -> None:
        self.counts = counts
        super().__init__("a dry run writes nothing")


class _SkipExisting(Exception):
    """Rolls a record's savepoint back: the record exists, and existing records are skipped."""


def load_batch(
    session: Session, batch: Sequence[NormalisedRecord], options: ImportOptions
) -> ImportCounts:
    """Write a batch, each record in its own savepoint, so that a failed one stops no other.

    Raises:
        DryRunRollback: at the end of a dry run.
    """
    counts = ImportCounts()
    names = NameResolver(session, options)
    loadable = [record for record in batch if isinstance(record, LoadableRecord)]
    # Two imports that write the same records in different orders would block each other, and both
    # would create an engagement of the same name.
    one_at_a_time(
        session,
        *(f"import {record.kind} {record.valid.external_id}" for record in loadable),
        *names.missing(record.valid.names for record in loadable),
    )
    for kind, group in groupby(batch, key=_kind_of):
        records = list(group)
        if kind != Kind.CONVERSATION or not _load_new(session, records, options, names, counts):
            for record in records:
                _load(session, record, options, names, counts)
    if options.dry_run:
        raise DryRunRollback(counts)
    return counts


def _kind_of(record: NormalisedRecord) -> str:
    return record.kind if isinstance(record, LoadableRecord) else ""


def _load_new(
    session: Session,
    records: Sequence[NormalisedRecord],
    options: ImportOptions,
    names: NameResolver,
    counts: ImportCounts,
) -> bool:
    """Create conversations that are all new in a few statements.

    Return False without any change if one of them exists or cannot be created: each is then loaded
    in its own savepoint, which tells them apart.
    """
    loadable = [record for record in records if isinstance(record, LoadableRecord)]
    external_ids = [record.valid.external_id for record in loadable]
    if conversations.known_external_ids(session, external_ids):
        return False
    try:
        with session.begin_nested():
            created = conversations.create_all(
                session,
                [
                    GivenConversation(
                        record.valid.external_id,
                        {**record.valid.values, **names.ids_of(record.valid.names)},
                    )
                    for record in loadable
                ],
            )
            evaluations = (
                conversations.request_first_evaluations(
                    session, created, scorecard_id=options.scorecard_id
                )
                if options.evaluate
                else []
            )
    except (AppError, IntegrityError, DataError):
        names.forget()
        return False
    for _ in created:
        counts.count(RecordOutcome.CREATED)
    counts.count_evaluations([evaluation.id for evaluation in evaluations])
    return True


def _load(
    session: Session,
    record: NormalisedRecord,
    options: ImportOptions,
    names: NameResolver,
    counts: ImportCounts,
) -> None:
    if isinstance(record, RefusedRecord):
        counts.count_failure(record.error, record.file)
        return

    def count_failure(code: Fault, message: str) -> None:
        error = BadLine(record.line, code, message, record.external_id)
        counts.count_failure(error, record.file)

    try:
        with session.begin_nested():
            outcome, evaluation_id = _write(session, record.kind, record.valid, options, names)
        counts.count(outcome, evaluation_id)
        return
    except _SkipExisting:
        counts.count(RecordOutcome.SKIPPED)
    except InvalidInput as error:
        count_failure(Fault.VALIDATION_ERROR, summary_of(error))
    except (Conflict, NotFound) as error:
        count_failure(Fault.CONFLICT, error.message)
    except (IntegrityError, DataError):
        logger.exception("the database refused the record of line %d", record.line)
        message = "The database refused this record; the service's log has the reason."
        count_failure(Fault.INTERNAL_ERROR, message)
    names.forget()


def _write(
    session: Session, kind: str, valid: ValidRecord, options: ImportOptions, names: NameResolver
) -> tuple[RecordOutcome, str | None]:
    values = {**valid.values, **names.ids_of(valid.names)}
    record, created, changed = WRITERS[kind](session, valid.external_id, values)
    if not created and options.on_conflict == SKIP:
        raise _SkipExisting
    # An unchanged record too: it may have been imported without an evaluation before. A record
    # that was judged is not judged again.
    request_evaluation = EVALUATION_REQUESTS.get(kind) if options.evaluate else None
    evaluation = (
        request_evaluation(session, record["id"], scorecard_id=options.scorecard_id)
        if request_evaluation
        else None
    )
    evaluation_id = evaluation.id if evaluation else None
    if created:
        return RecordOutcome.CREATED, evaluation_id
    return RecordOutcome.UPDATED if changed else RecordOutcome.SKIPPED, evaluation_id
