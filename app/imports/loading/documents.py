"""Documents and their entries: the content of an API request, or files on disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from app.imports.formats.catalogue import READERS
from app.imports.formats.records import BadLine, NativeRecord, ReaderOptions
from app.imports.options import ImportOptions


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A record or an unreadable line, and its file."""

    content: NativeRecord | BadLine
    file: str | None = None


def entries_of(documents: Iterable[Document], options: ImportOptions) -> Iterator[Entry]:
    """Yield the entries of each document.

    The order is the same on every run, so that a number of entries is a position to continue from.
    """
    for document in documents:
        reader_options = ReaderOptions(
            roles=options.roles,
            channel=options.defaults.get("channel"),
            external_id=document.external_id,
            columns=options.columns,
            timezone=options.timezone,
        )
        for content in READERS[document.format](document.stream, reader_options):
            yield Entry(content, document.file)
