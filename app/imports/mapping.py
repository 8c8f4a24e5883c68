"""Mapping of the columns of a table: what a dry run's table holds, and how it would be read."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, BinaryIO

from app.core.errors import Conflict, InvalidInput
from app.core.runtime import Runtime
from app.imports import jobs, service
from app.imports.formats import tables
from app.imports.formats.guesses import guess_fields
from app.imports.formats.presets import PRESETS, mapping_for
from app.imports.formats.records import BadLine, NativeRecord, RoleResolver, Unreadable
from app.imports.formats.table_rows import IGNORED, sample_of
from app.imports.loading.input import ImportOptions, reader_options
from app.imports.loading.normalise import summary_of
from app.imports.schemas.records import validator
from app.redaction.redactor import Redactor

# The field of a column that becomes a label of the same name.
LABEL = "label"
# Fields with their words, by what they are of.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "Each message": {
        "role": "Who wrote it: a word such as agent",
        "speaker": "Who wrote it: a name",
        "text": "Text",
        "html": "Text in HTML",
        "sentAt": "Time",
        "authorName": "Name of who wrote it",
        "internal": "Whether it is a private note",
        "public": "Whether the customer saw it",
        "partType": "Kind of part, of Intercom",
    },
    "The conversation": {
        "externalId": "Number of the conversation or ticket",
        "subject": "Subject",
        "startedAt": "Start",
        "endedAt": "End",
        "status": "State",
        "executive": "Agent",
        "campaign": "Campaign",
        "callCenter": "Call centre",
        "engagement": "Engagement",
        "language": "Language",
        "platform": "Platform",
        "customerRef": "Number of the customer",
        "disposition": "Disposition",
        "tags": "Tags, separated by |",
        "executiveId": "Id of the agent",
        "campaignId": "Id of the campaign",
        "callCenterId": "Id of the call centre",
        "engagementId": "Id of the engagement",
    },
}

_SAMPLED_ROWS = 2_000
_SHOWN_VALUES, _SHOWN_CHARACTERS = 3, 60
_SHOWN_ROLES = 30
_SHOWN_CONVERSATIONS, _SHOWN_MESSAGES = 3, 6


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column with some of its values, and its field."""

    name: str
    values: Sequence[str]
    field: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A conversation as it would be stored, or why it cannot be read."""

    external_id: str
    messages: Sequence[Mapping[str, Any]]
    more: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TableMapping:
    """A table by these options: its columns, the role of each value, and its first conversations.

    `problem` says why nothing of the table can be read.
    """

    options: ImportOptions
    columns: Sequence[TableColumn]
    roles: Mapping[str, str]
    previews: Sequence[Preview]
    problem: str = ""


def mapping_of(
    runtime: Runtime,
    import_id: str,
    chosen: ImportOptions | None = None,
    *,
    timezone: str | None = None,
) -> TableMapping:
    """Return the mapping of a dry run's table, by what was chosen, or else by its options and guesses.

    Args:
        timezone: the zone of times without an offset, if the options have none.

    Raises:
        NotFound: there is no such import.
        Conflict: it is not a dry run of a table, or its input is deleted.
    """
    with _table_of(runtime, import_id) as (options, stream):
        options = replace(options, timezone=options.timezone or timezone)
        return mapping_of_table(runtime, stream, chosen or options, is_chosen=chosen is not None)


def mapping_of_table(
    runtime: Runtime, stream: BinaryIO, options: ImportOptions, *, is_chosen: bool
) -> TableMapping:
    """Return the mapping of a table by these options, or by these and by guesses."""
    known = mapping_for(reader_options(options))
    try:
        header, rows = sample_of(stream, tables.FORM, known, rows=_SAMPLED_ROWS)
    except Unreadable as error:
        return TableMapping(options, [], {}, [], error.message)
    if not is_chosen:
        options = _guessed(options, header, rows)
    redactor = Redactor.of(runtime)
    columns = [
        TableColumn(name, _shown(redactor, [row[index] for row in rows]), options.columns[name])
        for index, name in enumerate(header)
    ]
    stream.seek(0)
    previews, problem = _previews(runtime, stream, options)
    return TableMapping(options, columns, _roles(header, rows, options), previews, problem)


def options_of(runtime: Runtime, import_id: str) -> tuple[ImportOptions, Sequence[str]]:
    """Return the options of a dry run of a table, and the names of its columns."""
    with _table_of(runtime, import_id) as (options, stream):
        known = mapping_for(reader_options(options))
        try:
            header, _ = sample_of(stream, tables.FORM, known, rows=0)
        except Unreadable as error:
            raise Conflict(error.message) from error
        return options, header


@contextmanager
def _table_of(runtime: Runtime, import_id: str) -> Iterator[tuple[ImportOptions, BinaryIO]]:
    with runtime.db.reading() as session:
        task = service.task_of_dry_run(session, runtime.keyring, import_id)
    with jobs.documents_of(runtime, task) as documents:
        document = next(iter(documents))
        if document.format != "csv":
            raise Conflict("Only a table in CSV has columns.")
        yield task.options, document.stream


def _guessed(
    options: ImportOptions, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> ImportOptions:
    known = mapping_for(reader_options(options))(header)
    guessed = guess_fields(header, rows, known)
    preset = PRESETS.get(options.preset or "")
    return replace(
        options,
        columns={name: guessed.get(name, IGNORED) for name in header},
        roles={**(preset.roles if preset else {}), **options.roles},
        preset=None,
        kept_columns={},
    )


def _roles(
    header: Sequence[str], rows: Sequence[Sequence[str]], options: ImportOptions
) -> dict[str, str]:
    """Return the role of each value of the column that says who writes; empty if it is unknown."""
    by_field = {options.columns[name]: index for index, name in enumerate(header)}
    index = by_field.get("role", by_field.get("speaker"))
    if index is None:
        return {}
    held = Counter(row[index].strip() for row in rows)
    held.pop("", None)
    chosen = RoleResolver(options.roles)
    return {
        value: chosen.mapped(value) or tables.known_role(value)
        for value, _ in held.most_common(_SHOWN_ROLES)
    }


def _previews(
    runtime: Runtime, stream: BinaryIO, options: ImportOptions
) -> tuple[list[Preview], str]:
    previews: list[Preview] = []
    for entry in islice(tables.read(stream, reader_options(options)), _SHOWN_CONVERSATIONS):
        if isinstance(entry, BadLine):
            if entry.line == 1:
                return [], entry.message
            place = entry.external_id or f"Line {entry.line}"
            previews.append(Preview(place, [], problem=entry.message))
        else:
            previews.append(_preview_of(runtime, entry, options))
    return previews, "" if previews else "The table has no rows."


def _preview_of(runtime: Runtime, record: NativeRecord, options: ImportOptions) -> Preview:
    external_id = record.external_id or ""
    try:
        values = validator(runtime, options)(record.kind, record.fields).values
    except InvalidInput as error:
        return Preview(external_id, [], problem=summary_of(error))
    rows = values["messages"].rows
    return Preview(external_id, rows[:_SHOWN_MESSAGES], max(0, len(rows) - _SHOWN_MESSAGES))


def _shown(redactor: Redactor, cells: Sequence[str]) -> list[str]:
    """Return some different values of a column, masked and shortened."""
    values = list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))
    shown = [redactor.masked_text(value[:500]) or "" for value in values[:_SHOWN_VALUES]]
    return [
        f"{value[:_SHOWN_CHARACTERS]}…" if len(value) > _SHOWN_CHARACTERS else value
        for value in shown
    ]
