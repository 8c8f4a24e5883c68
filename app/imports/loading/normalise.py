"""Normalisation of records: validation, refusal of repeated external ids, batches."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from app.core.errors import InvalidInput
from app.imports.formats.records import BadLine, Fault, NativeRecord

_MAX_FIELDS_IN_MESSAGE = 3
# The limits of a batch keep its transaction short, so that other writers wait only a moment.
_BATCH_RECORDS = 25
_BATCH_MESSAGES = 300
# Those that cannot be read are only counted: millions of them must not take as many transactions.
_BATCH_BAD_LINES = 5000


class DiskSet:
    """A set of texts in a temporary SQLite database, so that its memory stays bounded."""

    def __init__(self) -> None:
        # SQLite keeps a database without a name in memory, and moves it to an unnamed file as it
        # grows.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE texts (text TEXT PRIMARY KEY) WITHOUT ROWID")

    def __len__(self) -> int:
        (number,) = self._database.execute("SELECT count(*) FROM texts").fetchone()
        return int(number)

    def add(self, text: str) -> bool:
        """Add a text; return whether it is new."""
        cursor = self._database.execute("INSERT OR IGNORE INTO texts VALUES (?)", (text,))
        return cursor.rowcount == 1

    def remove(self, texts: Iterable[str]) -> None:
        rows = [(text,) for text in texts]
        self._database.executemany("DELETE FROM texts WHERE text = ?", rows)

    def first(self, limit: int) -> list[str]:
        rows = self._database.execute("SELECT text FROM texts ORDER BY text LIMIT ?", (limit,))
        return [text for (text,) in rows]

    def close(self) -> None:
        self._database.close()


@dataclass(frozen=True, slots=True)
class ValidRecord:
    """A validated record: values by column, and the names that are given in place of ids."""

    external_id: str
    values: dict[str, Any]
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadableRecord:
    """A valid record, with its place in the source.

    `external_id` is written as in the source; `weight` is the number of rows to write.
    """

    kind: str
    valid: ValidRecord
    line: int
    external_id: str | None
    file: str | None
    weight: int


NormalisedRecord: TypeAlias = LoadableRecord | BadLine
Validate = Callable[[str, Mapping[str, Any]], ValidRecord]


def normalised(
    entries: Iterable[tuple[NativeRecord | BadLine, str | None]],
    seen_keys: DiskSet,
    validate: Validate,
) -> Iterator[NormalisedRecord]:
    """Normalise each entry of a file; the first record with an external id wins."""
    for entry, file in entries:
        if isinstance(entry, BadLine):
            yield replace(entry, file=file)
        else:
            yield _normalised(entry, file, seen_keys, validate)


def batches_of(records: Iterable[NormalisedRecord]) -> Iterator[list[NormalisedRecord]]:
    """Group records into batches, each for one short transaction."""
    batch: list[NormalisedRecord] = []
    loadable = weight = 0
    for record in records:
        batch.append(record)
        if isinstance(record, LoadableRecord):
            loadable += 1
            weight += record.weight
        is_full = loadable == _BATCH_RECORDS or weight >= _BATCH_MESSAGES
        if is_full or len(batch) == _BATCH_BAD_LINES:
            yield batch
            batch, loadable, weight = [], 0, 0
    if batch:
        yield batch


def summary_of(error: InvalidInput) -> str:
    """Describe the invalid fields in one line."""
    details = error.details[:_MAX_FIELDS_IN_MESSAGE]
    messages = [f"{detail['field']}: {detail['message']}" for detail in details]
    more = len(error.details) - len(messages)
    return " ".join([*messages, f"And {more} more."] if more > 0 else messages) or error.message


def _normalised(
    record: NativeRecord, file: str | None, seen_keys: DiskSet, validate: Validate
) -> NormalisedRecord:
    def refused(code: Fault, message: str) -> BadLine:
        return BadLine(record.line, code, message, record.external_id, file)

    try:
        valid = validate(record.kind, record.fields)
    except InvalidInput as error:
        return refused(Fault.VALIDATION_ERROR, summary_of(error))
    if not seen_keys.add(f"{record.kind}\n{valid.external_id}"):
        message = "This externalId occurs more than once in this import; the first record is used."
        return refused(Fault.DUPLICATE, message)
    weight = _weight_of(record.fields)
    return LoadableRecord(record.kind, valid, record.line, record.external_id, file, weight)


def _weight_of(fields: Mapping[str, Any]) -> int:
    turns = fields.get("messages") or fields.get("turns")
    return 1 + len(turns) if isinstance(turns, list) else 1
