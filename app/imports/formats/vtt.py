"""WebVTT: cues with times, speakers in voice tags `<v Name>`; a file is one call."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from app.imports.formats.items import Fault, Read, Reading, Unreadable
from app.imports.formats.roles import Roles
from app.imports.formats.spoken import Turn
from app.imports.formats.subtitles import Block, Cue, cue_of, one_record, plain, shared

_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_ASIDE = re.compile(r"(NOTE|STYLE|REGION)(\s|$)")


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield the call that the file is; a cue in which nobody is named spoils it."""
    yield from one_record(stream, reading, "vtt", _turns)


def _turns(blocks: Iterator[Block], roles: Roles) -> Iterator[Turn]:
    head = next(blocks, None)
    if head is None or not re.match(r"WEBVTT(\s|$)", head.texts[0]):
        raise Unreadable(Fault.MALFORMED, "A WebVTT file begins with WEBVTT.")
    for block in blocks:
        if not _ASIDE.match(block.texts[0]):
            cue = cue_of(block)
            yield from shared(cue, list(_said(cue, roles)))


def _said(cue: Cue, roles: Roles) -> Iterator[tuple[str, str, str]]:
    before, *parts = _VOICE.split(" ".join(cue.texts))
    if plain(before, cue.line):
        roles.of(line=cue.line)
    for name, text in zip(*2 * [(plain(part, cue.line) for part in parts)], strict=True):
        if text:
            yield roles.of(name, line=cue.line), text, name
