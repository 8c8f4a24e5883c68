"""SRT: cues with times, speakers as prefixes `Name: text` or `[Name] text`; a file is one call."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from app.imports.formats.items import Read, Reading
from app.imports.formats.roles import Roles
from app.imports.formats.spoken import Turn
from app.imports.formats.subtitles import Block, Cue, cue_of, one_record, plain, shared

_PREFIX = re.compile(r"(?:- ?)?(?:\[([^\[\]]{1,80})\]:?|([^:\[\]]{1,80}):)(?:\s+(.*))?")
_STYLE = re.compile(r"\{\\[^{}]*\}")


def read(stream: BinaryIO, reading: Reading) -> Read:
    """Yield the call that the file is; a cue in which nobody is named spoils it."""
    yield from one_record(stream, reading, "srt", _turns)


def _turns(blocks: Iterator[Block], roles: Roles) -> Iterator[Turn]:
    for block in blocks:
        cue = cue_of(block)
        yield from shared(cue, _said(cue, roles))


def _said(cue: Cue, roles: Roles) -> list[tuple[str, str, str]]:
    said: list[tuple[str, str, str]] = []
    for index, text in enumerate(cue.texts):
        line = cue.line + index
        shown = plain(_STYLE.sub("", text), line)
        prefix = _PREFIX.fullmatch(shown)
        if prefix is not None:
            name = (prefix[1] or prefix[2]).strip()
            said.append((roles.of(name, line=line), prefix[3] or "", name))
        elif said:
            role, before, name = said[-1]
            said[-1] = (role, f"{before} {shown}".strip(), name)
        elif shown:
            roles.of(line=line)
    return [each for each in said if each[1]]
