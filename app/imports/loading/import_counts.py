"""Counts of an import by outcome, and its first errors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.imports.formats.records import BadLine

MAX_ERRORS = 100


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
        """The number of records."""
        return sum(self.by_outcome.values())

    def count(self, outcome: RecordOutcome, evaluation_id: str | None = None) -> None:
        """Count a record and the evaluation that was requested for it."""
        self.by_outcome[outcome] += 1
        if evaluation_id is not None:
            self.count_evaluations([evaluation_id])

    def count_evaluations(self, evaluation_ids: Sequence[str]) -> None:
        """Count requested evaluations."""
        self.evaluations_queued += len(evaluation_ids)
        self.evaluation_ids += evaluation_ids

    def count_failure(self, bad_line: BadLine, file: str | None = None) -> None:
        """Count a failed record; the first hundred errors are kept."""
        self.by_outcome[RecordOutcome.FAILED] += 1
        self.errors = first_errors(self.errors, [_error_of(bad_line, file)])

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


def first_errors(
    errors: list[dict[str, Any]], later: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the first hundred errors."""
    return [*errors, *later][:MAX_ERRORS]


def _error_of(bad_line: BadLine, file: str | None) -> dict[str, Any]:
    error: dict[str, Any] = {
        "line": bad_line.line,
        "external_id": bad_line.external_id,
        "code": str(bad_line.code),
        "message": bad_line.message,
    }
    return error if file is None else {"file": file, **error}
