"""Readers of WebVTT and SRT: cues with speakers in voice tags or as prefixes; a file is a call."""

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
    ReaderOptions,
    RoleResolver,
    TimedTurn,
    Unreadable,
    collect_turns,
    fingerprint,
    record_of,
    require_order,
)

_MAX_LINE_BYTES = 64 * 1024
_MAX_BLOCK_LINES = 500
_TIME = re.compile(r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]\d)[.,](\d{1,3})", re.ASCII)
_TAG = re.compile(r"<[^<>]*>")
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_NO_CUE = re.compile(r"(NOTE|STYLE|REGION)(\s|$)")
_PREFIX = re.compile(r"(?:- ?)?(?:\[([^\[\]]{1,80})\]:?|([^:\[\]]{1,80}):)(?:\s+(.*))?")
_STYLE = re.compile(r"\{\\[^{}]*\}")


@dataclass(frozen=True, slots=True)
class _Block:
    """Adjacent lines that are not blank; `line` is the number of the first."""

    line: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cue:
    """A block with times; `line` is the first line of its text."""

    line: int
    start_ms: int
    end_ms: int
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Speech:
    """The part of a cue's text that one speaker says."""

    role: str
    text: str
    name: str


_TurnReader = Callable[[Iterator[_Block], RoleResolver], Iterator[TimedTurn]]


def read_vtt(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield the call of a WebVTT file; every cue needs a speaker, as in `<v Name>`."""
    return _one_record(stream, options, "vtt", _vtt_turns)


def _vtt_turns(blocks: Iterator[_Block], roles: RoleResolver) -> Iterator[TimedTurn]:
    header = next(blocks, None)
    if header is None or not re.match(r"WEBVTT(\s|$)", header.texts[0]):
        raise Unreadable(Fault.MALFORMED, "The first line must begin with WEBVTT.")
    for block in blocks:
        if not _NO_CUE.match(block.texts[0]):
            cue = _cue_of(block)
            yield from _turns_of(cue, list(_vtt_speeches(cue, roles)))


def _vtt_speeches(cue: _Cue, roles: RoleResolver) -> Iterator[_Speech]:
    before, *parts = _VOICE.split(" ".join(cue.texts))
    if plain_text(before, cue.line):
        # Text before the first voice tag has no speaker: this raises.
        roles.role_of(line=cue.line)
    plain_parts = [plain_text(part, cue.line) for part in parts]
    for name, text in zip(plain_parts[::2], plain_parts[1::2], strict=True):
        if text:
            yield _Speech(roles.role_of(name, line=cue.line), text, name)


def read_srt(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield the call of an SRT file; every cue needs a speaker, as in `Name: text` or `[Name] text`."""
    return _one_record(stream, options, "srt", _srt_turns)


def _srt_turns(blocks: Iterator[_Block], roles: RoleResolver) -> Iterator[TimedTurn]:
    for block in blocks:
        cue = _cue_of(block)
        yield from _turns_of(cue, _srt_speeches(cue, roles))


def _srt_speeches(cue: _Cue, roles: RoleResolver) -> list[_Speech]:
    speeches: list[_Speech] = []
    for line, text in enumerate(cue.texts, start=cue.line):
        plain = plain_text(_STYLE.sub("", text), line)
        prefix = _PREFIX.fullmatch(plain)
        if prefix is not None:
            name = (prefix[1] or prefix[2]).strip()
            speeches.append(_Speech(roles.role_of(name, line=line), prefix[3] or "", name))
        elif speeches:
            last = speeches[-1]
            speeches[-1] = _Speech(last.role, f"{last.text} {plain}".strip(), last.name)
        elif plain:
            # Text before the first prefix has no speaker: this raises.
            roles.role_of(line=line)
    return [speech for speech in speeches if speech.text]


def _one_record(
    stream: BinaryIO, options: ReaderOptions, prefix: str, read_turns: _TurnReader
) -> Entries:
    """Yield the single record of a file, or the reason why the file is unreadable."""
    try:
        turns = collect_turns(read_turns(_blocks_of(stream), RoleResolver(options.roles)))
    except Unreadable as error:
        yield BadLine(error.line or 1, error.code, error.message, options.external_id)
        return
    content = [(turn.text, turn.start_ms, turn.end_ms) for turn in turns]
    external_id = options.external_id or fingerprint(prefix, content)
    yield record_of(1, turns, channel=options.channel, externalId=external_id)


def _cue_of(block: _Block) -> _Cue:
    """Read the times of a block, on its first line or after an identifier on the second."""
    for index, text in enumerate(block.texts[:2]):
        if "-->" in text:
            line = block.line + index
            start, _, rest = text.partition("-->")
            end = next(iter(rest.split(maxsplit=1)), "")
            start_ms, end_ms = _milliseconds(start.strip(), line), _milliseconds(end, line)
            require_order(start_ms, end_ms, line)
            return _Cue(line + 1, start_ms, end_ms, block.texts[index + 1 :])
    raise Unreadable(Fault.MALFORMED, "The text has no times.", block.line)


def plain_text(text: str, line: int = 0) -> str:
    """Remove tags, resolve character references, and join the lines."""
    try:
        return " ".join(html.unescape(_TAG.sub("", text)).split())
    except ValueError as error:
        message = "A character reference is invalid."
        raise Unreadable(Fault.MALFORMED, message, line) from error


def _turns_of(cue: _Cue, speeches: list[_Speech]) -> Iterator[TimedTurn]:
    """Yield the turns of a cue.

    If several speakers share the cue, only the first start and the last end are known.
    """
    for index, speech in enumerate(speeches):
        start_ms = cue.start_ms if index == 0 else None
        end_ms = cue.end_ms if index == len(speeches) - 1 else None
        yield TimedTurn(speech.role, speech.text, start_ms, end_ms, speech.name)


def _blocks_of(stream: BinaryIO) -> Iterator[_Block]:
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
            yield _Block(first, tuple(texts))
            first, texts = 0, []
    if texts:
        yield _Block(first, tuple(texts))


def _milliseconds(text: str, line: int) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise Unreadable(Fault.MALFORMED, "The times are malformed.", line)
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(match[4].ljust(3, "0"))
