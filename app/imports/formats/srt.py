"""Reader of SRT: cues with speakers as prefixes `Name: text` or `[Name] text`; a file is a call."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from app.imports.formats.records import Entries, ReaderOptions
from app.imports.formats.roles import RoleResolver
from app.imports.formats.subtitles import (
    CueSpeech,
    SubtitleBlock,
    SubtitleCue,
    cue_of,
    one_record,
    plain_text,
    turns_of,
)
from app.imports.formats.timed_turns import TimedTurn

_PREFIX = re.compile(r"(?:- ?)?(?:\[([^\[\]]{1,80})\]:?|([^:\[\]]{1,80}):)(?:\s+(.*))?")
_STYLE = re.compile(r"\{\\[^{}]*\}")


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield the call; every cue needs a speaker."""
    yield from one_record(stream, options, "srt", _read_turns)


def _read_turns(blocks: Iterator[SubtitleBlock], roles: RoleResolver) -> Iterator[TimedTurn]:
    for block in blocks:
        cue = cue_of(block)
        yield from turns_of(cue, _speeches_of(cue, roles))


def _speeches_of(cue: SubtitleCue, roles: RoleResolver) -> list[CueSpeech]:
    speeches: list[CueSpeech] = []
    for line, text in enumerate(cue.texts, start=cue.line):
        plain = plain_text(_STYLE.sub("", text), line)
        prefix = _PREFIX.fullmatch(plain)
        if prefix is not None:
            name = (prefix[1] or prefix[2]).strip()
            speeches.append(CueSpeech(roles.role_of(name, line=line), prefix[3] or "", name))
        elif speeches:
            last = speeches[-1]
            speeches[-1] = CueSpeech(last.role, f"{last.text} {plain}".strip(), last.name)
        elif plain:
            # Text before the first prefix has no speaker: this raises.
            roles.role_of(line=line)
    return [speech for speech in speeches if speech.text]
