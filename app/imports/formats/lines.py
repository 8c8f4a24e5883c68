"""Lines and JSON documents of a byte stream, each bounded, however long the stream is."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from app.core.errors import MalformedRequest
from app.core.json_loader import load_object
from app.imports.formats.items import BadLine, Fault

MOST_LINE_BYTES = 8 * 1024 * 1024
MOST_DOCUMENT_BYTES = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; `data` is None where it is longer than is taken."""

    number: int
    data: bytes | None


def lines(stream: BinaryIO, most_bytes: int = MOST_LINE_BYTES) -> Iterator[Line]:
    """Yield the lines; of one that is too long never more than the bound is held."""
    number = 0
    while data := stream.readline(most_bytes + 2):
        number += 1
        if number == 1:
            data = data.removeprefix(_BOM)
        whole = data.endswith(b"\n")
        bare = data.removesuffix(b"\n").removesuffix(b"\r")
        if len(bare) <= most_bytes:
            yield Line(number, bare)
            continue
        while not whole and (rest := stream.readline(65536)):
            whole = rest.endswith(b"\n")
        yield Line(number, None)


def too_long(line: int, most_bytes: int = MOST_LINE_BYTES) -> BadLine:
    """Tell of a line over the bound."""
    return BadLine(line, Fault.TOO_LONG, f"A line may have at most {most_bytes} bytes.")


def text_of(data: bytes) -> str:
    """Decode a line.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return data.decode("utf-8", "strict")


def not_utf8(line: int) -> BadLine:
    """Tell of a line in another encoding."""
    return BadLine(line, Fault.NOT_UTF8, "This is not UTF-8; save the file as UTF-8.")


def json_lines(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]] | BadLine]:
    """Yield the JSON object of each line that is not blank."""
    for line in lines(stream):
        if line.data is None:
            yield too_long(line.number)
        elif line.data.strip():
            yield _parsed(line.number, line.data)


def documents(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]] | BadLine]:
    """Yield JSON objects: one a line, or the one that the whole stream is."""
    found = lines(stream, MOST_DOCUMENT_BYTES)
    first = next((line for line in found if line.data is None or line.data.strip()), None)
    if first is None:
        return
    if first.data is None:
        yield too_long(first.number, MOST_DOCUMENT_BYTES)
        return
    begins = _parsed(first.number, first.data)
    if isinstance(begins, BadLine) and first.data.strip() in (b"{", b"["):
        yield _whole(first, found)
        return
    second = next((line for line in found if line.data is None or line.data.strip()), None)
    if isinstance(begins, BadLine) and second is not None and not _opens(second):
        yield _whole(first, chain([second], found))
        return
    yield begins
    for line in chain([second] if second else [], found):
        if line.data is None:
            yield too_long(line.number, MOST_DOCUMENT_BYTES)
        elif line.data.strip():
            yield _parsed(line.number, line.data)


def _opens(line: Line) -> bool:
    return line.data is not None and line.data.startswith(b"{")


def _whole(first: Line, rest: Iterator[Line]) -> tuple[int, dict[str, Any]] | BadLine:
    gathered = bytearray(first.data or b"")
    for line in rest:
        if line.data is None or len(gathered) + len(line.data) > MOST_DOCUMENT_BYTES:
            message = f"A document may have at most {MOST_DOCUMENT_BYTES} bytes."
            return BadLine(first.number, Fault.TOO_LONG, message)
        gathered += b"\n" + line.data
    return _parsed(first.number, bytes(gathered))


def _parsed(number: int, data: bytes) -> tuple[int, dict[str, Any]] | BadLine:
    try:
        return number, load_object(data, noun="line")
    except MalformedRequest as error:
        code = Fault.NOT_UTF8 if isinstance(error.__cause__, UnicodeDecodeError) else None
        return BadLine(number, code or Fault.MALFORMED, error.message)
