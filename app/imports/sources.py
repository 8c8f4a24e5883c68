"""The records of documents, one after the other: what came over the API, or files on disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from app.imports.formats.catalogue import READERS
from app.imports.formats.items import BadLine, Item
from app.imports.options import Options


@dataclass(frozen=True, slots=True)
class Document:
    """An open document: its format, its bytes, and how it is known.

    `external_id` is the caller's key where the document is one record; `file` is told with errors.
    """

    format: str
    stream: BinaryIO
    external_id: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was read, and from which file."""

    read: Item | BadLine
    file: str | None = None


def entries(documents: Iterable[Document], options: Options) -> Iterator[Entry]:
    """Yield what each document holds, in a fixed order, so that a count is a place."""
    for document in documents:
        reading = options.reading(document.external_id)
        for read in READERS[document.format](document.stream, reading):
            yield Entry(read, document.file)
