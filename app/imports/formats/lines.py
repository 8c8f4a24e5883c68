"""Lines and JSON documents of a byte stream, each of bounded size."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from app.core.errors import MalformedRequest
from app.core.json_documents import load_object
from app.imports.formats.records import BadLine, Entries, Fault, NativeRecord, Unreadable

MAX_LINE_BYTES = 8 * 1024 * 1024
_MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ByteLine:
    """A line without its line break; `data` is None for a line that is too long."""

    number: int
    data: bytes | None

    @property
    def is_blank(self) -> bool:
        return self.data is not None and not self.data.strip()


def byte_lines(stream: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[ByteLine]:
    """Yield the lines; a line that is too long is never held as a whole."""
    number = 0
    while data := stream.readline(max_bytes + 2):
        number += 1
        if number == 1:
            data = data.removeprefix(_BOM)
        is_complete = data.endswith(b"\n")
        content = data.removesuffix(b"\n").removesuffix(b"\r")
        if len(content) <= max_bytes:
            yield ByteLine(number, content)
            continue
        while not is_complete and (rest := stream.readline(65536)):
            is_complete = rest.endswith(b"\n")
        yield ByteLine(number, None)


def text_of(line: ByteLine, max_bytes: int) -> str:
    """Decode a line of at most `max_bytes` bytes."""
    if line.data is None:
        message = f"A line may have at most {max_bytes} bytes."
        raise Unreadable(Fault.TOO_LONG, message, line.number)
    try:
        return line.data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        message = "The line is not UTF-8; save the file as UTF-8."
        raise Unreadable(Fault.NOT_UTF8, message, line.number) from error


def json_lines(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]] | BadLine]:
    """Yield the JSON object of each line that is not blank, with its line number."""
    for line in byte_lines(stream):
        if not line.is_blank:
            yield _parsed_line(line, MAX_LINE_BYTES)


def json_documents(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]] | BadLine]:
    """Yield JSON objects with their line numbers: one a line, or one over the whole stream."""
    lines = (line for line in byte_lines(stream, _MAX_DOCUMENT_BYTES) if not line.is_blank)
    first = next(lines, None)
    if first is None:
        return
    first_document = _parsed_line(first, _MAX_DOCUMENT_BYTES)
    if first.data is None:
        yield first_document
        return
    second = next(lines, None)
    rest = chain([second] if second else [], lines)
    if isinstance(first_document, BadLine):
        is_open = first.data.strip() in (b"{", b"[")
        if is_open or (second is not None and not (second.data or b"").startswith(b"{")):
            yield _parsed_whole(first, rest)
            return
    yield first_document
    for line in rest:
        yield _parsed_line(line, _MAX_DOCUMENT_BYTES)


def read_documents(
    documents: Iterable[tuple[int, dict[str, Any]] | BadLine],
    external_id_of: Callable[[dict[str, Any]], str | None],
    record_of: Callable[[int, dict[str, Any], str | None], NativeRecord],
) -> Entries:
    """Yield the record of each JSON document, or the reason why it is unreadable."""
    for entry in documents:
        if isinstance(entry, BadLine):
            yield entry
            continue
        line, document = entry
        external_id = external_id_of(document)
        try:
            yield record_of(line, document, external_id)
        except Unreadable as error:
            yield BadLine(line, error.code, error.message, external_id)


def json_file(stream: BinaryIO, name: str, max_bytes: int) -> Any:
    """Return the document of a whole JSON file.

    Raises:
        Unreadable: it is none, or too large.
    """
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Unreadable(Fault.TOO_LONG, f"{name} has more than {max_bytes} bytes.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(Fault.MALFORMED, f"{name} is not JSON: {error}.") from error


def _parsed_whole(
    first: ByteLine, rest: Iterator[ByteLine]
) -> tuple[int, dict[str, Any]] | BadLine:
    document = bytearray(first.data or b"")
    for line in rest:
        if line.data is None or len(document) + len(line.data) > _MAX_DOCUMENT_BYTES:
            message = f"A document may have at most {_MAX_DOCUMENT_BYTES} bytes."
            return BadLine(first.number, Fault.TOO_LONG, message)
        document += b"\n" + line.data
    return _parsed(first.number, bytes(document))


def _parsed_line(line: ByteLine, max_bytes: int) -> tuple[int, dict[str, Any]] | BadLine:
    if line.data is None:
        message = f"A line may have at most {max_bytes} bytes."
        return BadLine(line.number, Fault.TOO_LONG, message)
    return _parsed(line.number, line.data)


def _parsed(number: int, data: bytes) -> tuple[int, dict[str, Any]] | BadLine:
    try:
        return number, load_object(data, noun="line")
    except MalformedRequest as error:
        is_encoding = isinstance(error.__cause__, UnicodeDecodeError)
        code = Fault.NOT_UTF8 if is_encoding else Fault.MALFORMED
        return BadLine(number, code, error.message)
