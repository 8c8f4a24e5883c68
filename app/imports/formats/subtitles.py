"""Subtitles: the blocks, times and records that WebVTT and SRT share."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from app.imports.formats.lines import byte_lines, text_of
from app.imports.formats.records import (
    BadLine,
    Entries,
    Fault,
    NativeRecord,
    ReaderOptions,
    Unreadable,
)
from app.imports.formats.roles import RoleResolver
from app.imports.formats.timed_turns import (
    TimedTurn,
    collect_turns,
    fingerprint,
    record_of,
    require_order,
)

_MAX_LINE_BYTES = 64 * 1024
_MAX_BLOCK_LINES = 500
_TIME = re.compile(r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]\d)[.,](\d{1,3})", re.ASCII)
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class SubtitleBlock:
    """Adjacent lines that are not blank; `line` is the number of the first."""

    line: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubtitleCue:
    """A block with times; `line` is the first line of its text."""

    line: int
    start_ms: int
    end_ms: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CueSpeech:
    """The part of a cue's text that one speaker says."""

    role: str
    text: str
    name: str


TurnReader = Callable[[Iterator[SubtitleBlock], RoleResolver], Iterator[TimedTurn]]


def one_record(
    stream: BinaryIO, options: ReaderOptions, prefix: str, read_turns: TurnReader
) -> Entries:
    """Yield the single record of a file, or the reason why the file is unreadable."""
    try:
        turns = collect_turns(read_turns(_blocks_of(stream), RoleResolver(options.roles)))
    except Unreadable as error:
        yield BadLine(error.line or 1, error.code, error.message, options.external_id)
        return
    content = [(turn.text, turn.start_ms, turn.end_ms) for turn in turns]
    external_id = options.external_id or fingerprint(prefix, content)
    kind, fields = record_of(turns, channel=options.channel, externalId=external_id)
    yield NativeRecord(1, kind, fields)


def cue_of(block: SubtitleBlock) -> SubtitleCue:
    """Read the times of a block, on its first line or after an identifier on the second."""
    for index, text in enumerate(block.texts[:2]):
        if "-->" in text:
            line = block.line + index
            start, _, rest = text.partition("-->")
            end = next(iter(rest.split(maxsplit=1)), "")
            start_ms, end_ms = _milliseconds(start.strip(), line), _milliseconds(end, line)
            require_order(start_ms, end_ms, line)
            return SubtitleCue(line + 1, start_ms, end_ms, block.texts[index + 1 :])
    raise Unreadable(Fault.MALFORMED, "The text has no times.", block.line)


def plain_text(text: str, line: int = 0) -> str:
    """Remove tags, resolve character references, and join the lines."""
    try:
        return " ".join(html.unescape(_TAG.sub("", text)).split())
    except ValueError as error:
        message = "A character reference is invalid."
        raise Unreadable(Fault.MALFORMED, message, line) from error


def turns_of(cue: SubtitleCue, speeches: list[CueSpeech]) -> Iterator[TimedTurn]:
    """Yield the turns of a cue.

    If several speakers share the cue, only the first start and the last end are known.
    """
    for index, speech in enumerate(speeches):
        start_ms = cue.start_ms if index == 0 else None
        end_ms = cue.end_ms if index == len(speeches) - 1 else None
        yield TimedTurn(speech.role, speech.text, start_ms, end_ms, speech.name)


def _blocks_of(stream: BinaryIO) -> Iterator[SubtitleBlock]:
    first, texts = 0, list[str]()
    for line in byte_lines(stream, _MAX_LINE_BYTES):
        text = text_of(line, _MAX_LINE_BYTES)
        if text.strip():
            first = first or line.number
            texts.append(text)
            if len(texts) > _MAX_BLOCK_LINES:
                message = f"A block may have at most {_MAX_BLOCK_LINES} lines."
                raise Unreadable(Fault.TOO_LONG, message, first)
        elif texts:
            yield SubtitleBlock(first, tuple(texts))
            first, texts = 0, []
    if texts:
        yield SubtitleBlock(first, tuple(texts))


def _milliseconds(text: str, line: int) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise Unreadable(Fault.MALFORMED, "The times are malformed.", line)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(match[4].ljust(3, "0"))
