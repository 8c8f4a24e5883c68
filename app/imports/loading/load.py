"""Loading of a batch: its records are written and counted, for API requests, files and the demo."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from app.campaigns import service as campaigns
from app.conversations import service as conversations
from app.conversations.service import ConversationInput
from app.core.database.locks import one_at_a_time
from app.core.database.upserts import Upserted
from app.core.errors import AppError, Conflict, InvalidInput, NotFound
from app.directory import service as directory
from app.evaluations.models import Evaluation
from app.imports.formats.records import BadLine, Fault, Kind
from app.imports.loading.input import SKIP, ImportOptions
from app.imports.loading.normalise import LoadableRecord, NormalisedRecord, ValidRecord, summary_of
from app.imports.loading.references import NameResolver, UnknownName
from app.voice_calls import evaluation
from app.voice_calls import service as voice_calls

# How the package of each kind writes a record; raises `InvalidInput` for a reference to nothing.
_WRITERS: Mapping[str, Callable[[Session, str, dict[str, Any]], Upserted[Any]]] = {
    Kind.VOICE_CALL: voice_calls.upsert,
    Kind.CONVERSATION: conversations.upsert,
    Kind.CAMPAIGN: campaigns.upsert,
    Kind.CALL_CENTER: directory.upsert_call_center,
    Kind.EXECUTIVE: directory.upsert_executive,
}
# Each returns None where there is nothing to judge.
_EVALUATION_REQUESTS: Mapping[str, Callable[..., Evaluation | None]] = {
    Kind.CONVERSATION: conversations.request_evaluation,
    Kind.VOICE_CALL: evaluation.request_evaluation,
}
_MAX_ERRORS = 100
logger = logging.getLogger(__name__)


class RecordOutcome(StrEnum):
    """The outcome of one record; a record that has the given values already is skipped."""

    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(slots=True)
class ImportCounts:
    """The counts, the first errors and the requested evaluations of some records."""

    by_outcome: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RecordOutcome, 0))
    errors: list[dict[str, Any]] = field(default_factory=list)
    evaluation_ids: list[str] = field(default_factory=list)
    evaluations_queued: int = 0

    @property
    def received(self) -> int:
        return sum(self.by_outcome.values())

    def count(self, outcome: RecordOutcome, evaluation_id: str | None = None) -> None:
        self.by_outcome[outcome] += 1
        if evaluation_id is not None:
            self.count_evaluations([evaluation_id])

    def count_evaluations(self, evaluation_ids: Sequence[str]) -> None:
        self.evaluations_queued += len(evaluation_ids)
        self.evaluation_ids += evaluation_ids

    def count_failure(self, bad_line: BadLine) -> None:
        """Count a failed record; the first hundred errors are kept."""
        self.by_outcome[RecordOutcome.FAILED] += 1
        # Of lines, the errors of the first hundred are kept; sorting them for each would take long.
        if len(self.errors) < _MAX_ERRORS or not bad_line.line:
            self.errors = first_errors(self.errors, [_error_of(bad_line)])

    def add(self, later: "ImportCounts") -> None:
        """Add the counts of later records, without the ids of their evaluations."""
        for outcome, number in later.by_outcome.items():
            self.by_outcome[outcome] += number
        self.evaluations_queued += later.evaluations_queued
        self.errors = first_errors(self.errors, later.errors)

    def as_dict(self) -> dict[str, int]:
        """Return the counts by the names of the API and of the table, in snake case."""
        return {
            "received": self.received,
            **self.by_outcome,
            "evaluations_queued": self.evaluations_queued,
        }


class DryRunRollback(Exception):
    """Rolls the transaction of a dry run back; carries the counts."""

    def __init__(self, counts: ImportCounts) -> None:
        self.counts = counts
        super().__init__("a dry run writes nothing")


class _SkipExisting(Exception):
    """Rolls a record's savepoint back: the record exists, and existing records are skipped."""


def first_errors(
    errors: list[dict[str, Any]], later: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the first hundred errors; those of whole files come before those of lines."""
    return sorted([*errors, *later], key=lambda error: bool(error["line"]))[:_MAX_ERRORS]


def _error_of(bad_line: BadLine) -> dict[str, Any]:
    error: dict[str, Any] = {
        "line": bad_line.line,
        "external_id": bad_line.external_id,
        "code": str(bad_line.code),
        "message": bad_line.message,
    }
    return error if bad_line.file is None else {"file": bad_line.file, **error}


def load_batch(
    session: Session, batch: Sequence[NormalisedRecord], options: ImportOptions
) -> ImportCounts:
    """Write a batch, each record in its own savepoint, so that a failed one stops no other.

    Raises:
        DryRunRollback: at the end of a dry run.
    """
    load = _BatchLoad(session, options)
    load.lock([record for record in batch if isinstance(record, LoadableRecord)])
    for kind, group in groupby(batch, key=_kind_of):
        records = list(group)
        if kind != Kind.CONVERSATION or not load.create_conversations(records):
            for record in records:
                load.write(record)
    if options.dry_run:
        raise DryRunRollback(load.counts)
    return load.counts


def _kind_of(record: NormalisedRecord) -> str:
    return record.kind if isinstance(record, LoadableRecord) else ""


class _BatchLoad:
    def __init__(self, session: Session, options: ImportOptions) -> None:
        self.counts = ImportCounts()
        self._session = session
        self._options = options
        self._names = NameResolver(session, options)

    def lock(self, records: Sequence[LoadableRecord]) -> None:
        """Wait for other imports of these records, and of the names that do not exist yet.

        Two imports that write the same records in different orders would block each other, and both
        would create an engagement of the same name.
        """
        one_at_a_time(
            self._session,
            *(f"import {record.kind} {record.valid.external_id}" for record in records),
            *self._names.missing(record.valid.names for record in records),
        )

    def create_conversations(self, records: Sequence[NormalisedRecord]) -> bool:
        """Create conversations that are all new in a few statements.

        Return False without any change if one of them exists or cannot be created: each is then
        written in its own savepoint, which tells them apart.
        """
        valid = [record.valid for record in records if isinstance(record, LoadableRecord)]
        if conversations.known_external_ids(
            self._session, [record.external_id for record in valid]
        ):
            return False
        evaluations: Sequence[Evaluation] = ()
        try:
            with self._session.begin_nested():
                created = conversations.create_all(
                    self._session,
                    [
                        ConversationInput(record.external_id, self._values(record))
                        for record in valid
                    ],
                )
                if self._options.evaluate:
                    evaluations = conversations.request_first_evaluations(
                        self._session, created, scorecard_id=self._options.scorecard_id
                    )
        except (AppError, IntegrityError, DataError):
            self._names.forget()
            return False
        for _ in created:
            self.counts.count(RecordOutcome.CREATED)
        self.counts.count_evaluations([evaluation.id for evaluation in evaluations])
        return True

    def write(self, record: NormalisedRecord) -> None:
        """Write a record in its own savepoint."""
        if isinstance(record, BadLine):
            self.counts.count_failure(record)
            return
        try:
            with self._session.begin_nested():
                outcome, evaluation_id = self._write(record)
            self.counts.count(outcome, evaluation_id)
            return
        except _SkipExisting:
            self.counts.count(RecordOutcome.SKIPPED)
        except UnknownName as error:
            self._count_failure(record, Fault.UNKNOWN_NAME, summary_of(error))
        except InvalidInput as error:
            self._count_failure(record, Fault.VALIDATION_ERROR, summary_of(error))
        except (Conflict, NotFound) as error:
            self._count_failure(record, Fault.CONFLICT, error.message)
        except (IntegrityError, DataError):
            logger.exception("the database refused the record of line %d", record.line)
            message = "The database refused this record; the service's log has the reason."
            self._count_failure(record, Fault.INTERNAL_ERROR, message)
        self._names.forget()

    def _write(self, record: LoadableRecord) -> tuple[RecordOutcome, str | None]:
        stored, created, changed = _WRITERS[record.kind](
            self._session, record.valid.external_id, self._values(record.valid)
        )
        if not created and self._options.on_conflict == SKIP:
            raise _SkipExisting
        # An unchanged record too: it may have been imported without an evaluation before. A record
        # that was judged is not judged again.
        requested = None
        if self._options.evaluate and record.kind in _EVALUATION_REQUESTS:
            requested = _EVALUATION_REQUESTS[record.kind](
                self._session, stored["id"], scorecard_id=self._options.scorecard_id
            )
        evaluation_id = requested.id if requested else None
        if created:
            return RecordOutcome.CREATED, evaluation_id
        return RecordOutcome.UPDATED if changed else RecordOutcome.SKIPPED, evaluation_id

    def _values(self, valid: ValidRecord) -> dict[str, Any]:
        return {**valid.values, **self._names.ids_of(valid.names)}

    def _count_failure(self, record: LoadableRecord, code: Fault, message: str) -> None:
        error = BadLine(record.line, code, message, record.external_id, record.file)
        self.counts.count_failure(error)
