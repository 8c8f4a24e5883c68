"""Input of an import: its options, and the entries of its documents."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from app.imports.formats.catalogue import READERS
from app.imports.formats.presets import PRESETS
from app.imports.formats.records import BadLine, NativeRecord, ReaderOptions

UPDATE, SKIP = "update", "skip"
ON_CONFLICT = (UPDATE, SKIP)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import over the API or by the command.

    Args:
        defaults: values for records without one: `engagementId`, `campaignId`, `callCenterId`,
            `executiveId`, `channel`, `direction`, `language`, or the names `engagement`, `campaign`,
            `callCenter`, `executive`.
        roles: maps speakers' names and words of the source to roles of the API.
        on_conflict: whether an existing record is updated or skipped.
        create_missing: whether named rows that do not exist are created.
        engagement_type: the type of created engagements.
        columns: maps columns of CSV to fields.
        timezone: IANA name of the time zone of times without an offset.
        preset: names the system whose columns of CSV are known.
        kept_columns: as `columns`, of a kept preset: a file need not have them.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    evaluate: bool = True
    scorecard_id: str | None = None
    on_conflict: str = UPDATE
    create_missing: bool = False
    dry_run: bool = False
    engagement_type: str = "imported"
    columns: Mapping[str, str] = field(default_factory=dict)
    timezone: str | None = None
    preset: str | None = None
    kept_columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """An open document.

    `external_id` is the caller's key where the document is one record; `file` is the name that
    errors show.
    """

    format: str
    stream: BinaryIO
    external_id: str | None = None
    file: str | None = None


def entries_of(
    documents: Iterable[Document | BadLine], options: ImportOptions
) -> Iterator[tuple[NativeRecord | BadLine, str | None]]:
    """Yield the entries of each document, with its file; a file that cannot be read is one entry.

    The order is the same on every run, so that a number of entries is a position to continue from.
    """
    for document in documents:
        if isinstance(document, BadLine):
            yield document, document.file
            continue
        given = reader_options(options, document.external_id)
        for entry in READERS[document.format](document.stream, given):
            yield entry, document.file


def reader_options(options: ImportOptions, external_id: str | None = None) -> ReaderOptions:
    return ReaderOptions(
        roles=options.roles,
        channel=options.defaults.get("channel"),
        external_id=external_id,
        columns=options.columns,
        timezone=options.timezone,
        preset=options.preset,
        kept_columns=options.kept_columns,
        names_agents=_names_agents(options),
    )


def _names_agents(options: ImportOptions) -> bool:
    """Return whether agents are those who write: in a desk's table, if they may be created."""
    has_agent = {"executive", "executiveId"} & options.defaults.keys()
    return options.create_missing and options.preset in PRESETS and not has_agent
