"""Subtitles: blocks, times and records that WebVTT and SRT share."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from app.imports.formats import spoken
from app.imports.formats.items import BadLine, Fault, Item, Read, Reading, Unreadable
from app.imports.formats.lines import lines, not_utf8, text_of, too_long
from app.imports.formats.roles import Roles
from app.imports.formats.spoken import Turn

_MOST_LINE_BYTES = 64 * 1024
_MOST_BLOCK_LINES = 500
_MOMENT = re.compile(r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]\d)[.,](\d{1,3})", re.ASCII)
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines without a blank one between them; `line` is the number of the first."""

    line: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cue:
    """A block with its times; `line` is where its text begins."""

    line: int
    start_ms: int
    end_ms: int
    texts: tuple[str, ...]


Turns = Callable[[Iterator[Block], Roles], Iterator[Turn]]


def one_record(stream: BinaryIO, reading: Reading, prefix: str, turns: Turns) -> Read:
    """Yield the one record that the file is, or why it is none."""
    try:
        found = spoken.bounded(turns(_blocks(stream), Roles(reading.roles)))
    except Unreadable as error:
        yield BadLine(error.line or 1, error.code, error.message, reading.external_id)
        return
    said = [(turn.text, turn.start_ms, turn.end_ms) for turn in found]
    external_id = reading.external_id or spoken.fingerprint(prefix, said)
    kind, fields = spoken.record(found, channel=reading.channel, externalId=external_id)
    yield Item(1, kind, fields)


def cue_of(block: Block) -> Cue:
    """Find the times of a block: on its first line, or behind an identifier on the second.

    Raises:
        Unreadable: there are none, or it ends before it begins.
    """
    for index, text in enumerate(block.texts[:2]):
        if "-->" in text:
            line = block.line + index
            before, _, after = text.partition("-->")
            start_ms, end_ms = _ms(before.strip(), line), _ms(_first_word(after), line)
            spoken.require_order(start_ms, end_ms, line)
            return Cue(line + 1, start_ms, end_ms, block.texts[index + 1 :])
    raise Unreadable(Fault.MALFORMED, "There is a text without times.", block.line)


def plain(text: str, line: int = 0) -> str:
    """Remove tags, resolve character references, and join the lines.

    Raises:
        Unreadable: the number of a character reference is too long to be read.
    """
    try:
        return " ".join(html.unescape(_TAG.sub("", text)).split())
    except ValueError as error:
        message = "A character reference is not valid."
        raise Unreadable(Fault.MALFORMED, message, line) from error


def shared(cue: Cue, said: list[tuple[str, str, str]]) -> Iterator[Turn]:
    """Yield the turns of a cue from (role, text, name).

    Of a cue that several share only the begin of the first and the end of the last are known.
    """
    for index, (role, text, name) in enumerate(said):
        start_ms = cue.start_ms if index == 0 else None
        end_ms = cue.end_ms if index == len(said) - 1 else None
        yield Turn(role, text, start_ms, end_ms, name)


def _blocks(stream: BinaryIO) -> Iterator[Block]:
    begun, texts = 0, list[str]()
    for number, text in _texts(stream):
        if text.strip():
            begun = begun or number
            texts.append(text)
            if len(texts) > _MOST_BLOCK_LINES:
                message = f"More than {_MOST_BLOCK_LINES} lines stand without a blank one."
                raise Unreadable(Fault.TOO_LONG, message, begun)
        elif texts:
            yield Block(begun, tuple(texts))
            begun, texts = 0, []
    if texts:
        yield Block(begun, tuple(texts))


def _texts(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    for line in lines(stream, _MOST_LINE_BYTES):
        bad = too_long(line.number, _MOST_LINE_BYTES)
        if line.data is not None:
            try:
                yield line.number, text_of(line.data)
                continue
            except UnicodeDecodeError:
                bad = not_utf8(line.number)
        raise Unreadable(bad.code, bad.message, bad.line)


def _ms(text: str, line: int) -> int:
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise Unreadable(Fault.MALFORMED, "The times cannot be read.", line)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(match[4].ljust(3, "0"))


def _first_word(text: str) -> str:
    words = text.split(maxsplit=1)
    return words[0] if words else ""
