"""Import counts by outcome, and the first errors."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.imports.formats.items import BadLine

MOST_ERRORS = 100


class Outcome(StrEnum):
    """What became of one record; one that was like that already counts as skipped."""

    CREATED = "created"
    UPDATED = "updated"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(slots=True)
class Tally:
    """Counts over some records."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    errors: list[dict[str, Any]] = field(default_factory=list)
    evaluation_ids: list[str] = field(default_factory=list)
    evaluations_queued: int = 0

    @property
    def received(self) -> int:
        """How many records these were."""
        return sum(self.counts.values())

    def note(self, outcome: Outcome, evaluation_id: str | None = None) -> None:
        """Count a record."""
        self.counts[outcome] += 1
        if evaluation_id is not None:
            self.evaluations_queued += 1
            self.evaluation_ids.append(evaluation_id)

    def fail(self, bad: BadLine, file: str | None = None) -> None:
        """Count a record that was not taken, and keep the first such with the reason."""
        self.counts[Outcome.FAILED] += 1
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error_of(bad, file))

    def add(self, more: "Tally") -> None:
        """Add later counts; ids of evaluations are not carried over."""
        for outcome, number in more.counts.items():
            self.counts[outcome] += number
        self.evaluations_queued += more.evaluations_queued
        self.errors = first_errors(self.errors, more.errors)

    def shown(self) -> dict[str, int]:
        """Return the counts as they are shown."""
        return shown_counts(
            received=self.received, evaluations_queued=self.evaluations_queued, **self.counts
        )


def first_errors(
    errors: list[dict[str, Any]], more: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the first hundred of both."""
    return [*errors, *more][:MOST_ERRORS]


def shown_counts(
    *,
    received: int,
    created: int,
    updated: int,
    skipped: int,
    failed: int,
    evaluations_queued: int,
) -> dict[str, int]:
    """Gather the counts in the order of the contract."""
    return {
        "received": received,
        "created": created,
        "updated": updated,
        "skipped": skipped,
        "failed": failed,
        "evaluations_queued": evaluations_queued,
    }


def error_of(bad: BadLine, file: str | None) -> dict[str, Any]:
    """Show an error: which line, which record, which rule."""
    error: dict[str, Any] = {
        "line": bad.line,
        "external_id": bad.external_id,
        "code": str(bad.code),
        "message": bad.message,
    }
    return error if file is None else {"file": file, **error}
