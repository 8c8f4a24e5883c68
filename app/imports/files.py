"""Files, folders and standard input as documents, opened one at a time."""

import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.imports.external_ids import FORM
from app.imports.formats.catalogue import HEAD_BYTES, ONE_A_FILE, detect
from app.imports.sources import Document

AUTO = "auto"
STDIN = "-"
_SUFFIXES = frozenset(
    {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".vtt", ".srt", ".vcon", ".txt"}
)


class UnknownFormat(Exception):
    """Neither the name nor the content of a file tells its format."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read: where it is, how it is told, and the key of a record that it is."""

    path: Path
    shown: str
    external_id: str | None
    size_bytes: int


def find(path: Path) -> list[Found]:
    """List a file, or the files of a folder that may hold records, in the order of their names."""
    if not path.is_dir():
        return [_found(path, path.name)]
    files = sorted(each for each in path.rglob("*") if _is_candidate(each, path))
    return [_found(each, each.relative_to(path).as_posix()) for each in files]


def documents(
    files: Sequence[Found], format: str, on_opened: Callable[[BinaryIO, int], None]
) -> Iterator[Document]:
    """Open each file in turn, and tell how many bytes stood in those before it.

    Raises:
        UnknownFormat: naming the file.
    """
    before = 0
    for each in files:
        with each.path.open("rb") as stream:
            on_opened(stream, before)
            yield document(stream, each.shown, format, each.external_id)
        before += each.size_bytes


def document(stream: BinaryIO, shown: str, format: str, external_id: str | None = None) -> Document:
    """Tell the format of an open file, and leave it at its begin."""
    if format == AUTO:
        stream = stream if stream.seekable() else io.BufferedReader(_Raw(stream), HEAD_BYTES)
        found = detect(_peek(stream), shown)
        if found is None:
            raise UnknownFormat(
                f"{shown}: neither its name nor its begin tells the format; give it by --format."
            )
        format = found
    return Document(format, stream, external_id if format in ONE_A_FILE else None, shown)


def _peek(stream: BinaryIO) -> bytes:
    if isinstance(stream, io.BufferedReader) and not stream.seekable():
        return stream.peek(HEAD_BYTES)
    head = stream.read(HEAD_BYTES)
    stream.seek(0)
    return head


class _Raw(io.RawIOBase):
    """A stream that cannot seek, as the source of a buffer that can be looked into."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _is_candidate(file: Path, below: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(below).parts)
    return file.is_file() and not hidden and file.suffix.casefold() in _SUFFIXES


def _found(path: Path, shown: str) -> Found:
    name = shown.removesuffix(path.suffix).replace("/", ":")
    key = unicodedata.normalize("NFC", name)
    # A name that is no key, or holds bytes that are no text, leaves it to a hash of the content.
    usable = re.fullmatch(FORM, key) is not None and _is_text(key)
    return Found(path, _printable(shown), key if usable else None, path.stat().st_size)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()
