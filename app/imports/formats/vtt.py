"""Reader of WebVTT: cues with speakers in voice tags `<v Name>`; a file is a call."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from app.imports.formats.records import Entries, Fault, ReaderOptions, Unreadable
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

_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]([^<>]*)>")
_NO_CUE = re.compile(r"(NOTE|STYLE|REGION)(\s|$)")


def read(stream: BinaryIO, options: ReaderOptions) -> Entries:
    """Yield the call; every cue needs a speaker."""
    yield from one_record(stream, options, "vtt", _read_turns)


def _read_turns(blocks: Iterator[SubtitleBlock], roles: RoleResolver) -> Iterator[TimedTurn]:
    header = next(blocks, None)
    if header is None or not re.match(r"WEBVTT(\s|$)", header.texts[0]):
        raise Unreadable(Fault.MALFORMED, "The first line must begin with WEBVTT.")
    for block in blocks:
        if not _NO_CUE.match(block.texts[0]):
            cue = cue_of(block)
            yield from turns_of(cue, list(_speeches_of(cue, roles)))


def _speeches_of(cue: SubtitleCue, roles: RoleResolver) -> Iterator[CueSpeech]:
    before, *parts = _VOICE.split(" ".join(cue.texts))
    if plain_text(before, cue.line):
        # Text before the first voice tag has no speaker: this raises.
        roles.role_of(line=cue.line)
    plain_parts = [plain_text(part, cue.line) for part in parts]
    for name, text in zip(plain_parts[::2], plain_parts[1::2], strict=True):
        if text:
            yield CueSpeech(roles.role_of(name, line=cue.line), text, name)
