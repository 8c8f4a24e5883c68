"""The deterministic events of a conversation: what was said where, to the character."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.ai.dialogue.turns import Dialogue, Line, Side
from app.ai.languages.detection import ENGLISH, HINDI, ROMANISED_HINDI
from app.ai.languages.lexicon import Lexicon, lexicon_of
from app.ai.languages.phrases import Phrase, Speaker, plain_of, stems_in
from app.ai.languages.sounds import sounds_of

_SENTENCE_END = re.compile("[.!?\u0964\n]")
_LOOK_BACK_CHARS = 200
# Whose phrases each side may say. Where it is not known who speaks, that is anybody's.
_SPEAKERS = {
    Side.SERVICE: (Speaker.ANYONE, Speaker.SERVICE),
    Side.CUSTOMER: (Speaker.ANYONE, Speaker.CUSTOMER),
    Side.OTHER: (Speaker.ANYONE,),
    Side.UNKNOWN: tuple(Speaker),
}
# What the service side says before it knows what the customer wants.
_OPENING = ("greeting", "purpose")


@dataclass(frozen=True, slots=True)
class Cue:
    """One event: `text[start:end]` of its line is what shows it."""

    kind: str
    line: Line
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.line.text[self.start : self.end]


class Cues:
    """All cues of a dialogue, in the order in which they were said."""

    def __init__(self, found: Iterable[Cue] = ()) -> None:
        self._found: dict[tuple[str, Side | None], list[Cue]] = defaultdict(list)
        self._in_line: dict[int, list[Cue]] = defaultdict(list)
        for cue in found:
            self._in_line[cue.line.position].append(cue)
            self._found[cue.kind, None].append(cue)
            self._found[cue.kind, cue.line.side].append(cue)

    def in_line(self, line: Line) -> Sequence[Cue]:
        """List the cues of one line."""
        return self._in_line.get(line.position, ())

    def of(
        self, kind: str, lines: Sequence[Line] | None = None, side: Side | None = None
    ) -> list[Cue]:
        """List the cues of a kind, of the given lines and side only."""
        found = self._found.get((kind, side), [])
        if lines is None or not found:
            return found
        positions = {line.position for line in lines}
        return [cue for cue in found if cue.line.position in positions]


def find_cues(dialogue: Dialogue) -> Cues:
    """Find the cues of each line whose language has a lexicon; the others have none.

    Where it is not known who speaks, every phrase counts, whoever would have to say it.
    """
    if not dialogue.readable:
        return Cues()
    hindi = dialogue.language in (HINDI, ROMANISED_HINDI)
    found: list[Cue] = []
    for line in dialogue.lines:
        lexicon = lexicon_of(line.language)
        if lexicon is None:
            continue
        in_line = _cues_in(line, lexicon)
        # Who speaks Hindi mixes it into lines that are English for the most part.
        mixed = lexicon_of(ROMANISED_HINDI) if hindi and line.language == ENGLISH else None
        if mixed is not None:
            in_line = [*in_line, *_cues_in(line, mixed)]
        found += _without_overlaps(in_line) if mixed or lexicon.builds_on else in_line
    return Cues(_of_the_course(dialogue, found))


def first_request(dialogue: Dialogue, cues: Iterable[Cue]) -> tuple[Line, ...]:
    """Return the lines with which the customer opens a dialogue, at most after a greeting."""
    greeted = {cue.line.position for cue in cues if cue.kind in _OPENING}
    for turn in dialogue.turns:
        if turn.side is Side.CUSTOMER:
            return turn.lines
        if any(line.position not in greeted for line in turn.lines):
            break
    return ()


def _of_the_course(dialogue: Dialogue, cues: Sequence[Cue]) -> Iterable[Cue]:
    # Nothing was tried yet in the first request: what "still" fails there is the problem itself.
    first = {line.position for line in first_request(dialogue, cues) if dialogue.service}
    for cue in cues:
        if cue.line.position not in first or cue.kind not in ("gives_up", "still_broken"):
            yield cue
        elif cue.kind == "still_broken":
            yield replace(cue, kind="problem")


def _cues_in(line: Line, lexicon: Lexicon) -> Iterable[Cue]:
    written = plain_of(line.text)
    # Lower-casing may lengthen a text that is not ASCII, and offsets must hold.
    plain = written.lower()
    if len(plain) != len(written):
        plain = "".join(char.lower() if len(char.lower()) == 1 else char for char in written)
    sounds = sounds_of(plain) if lexicon.sounded else None
    words = stems_in(plain)
    if sounds:
        words |= stems_in(sounds.text)
    triggers = lexicon.of_trigger.keys() & words
    tried = {index for word in triggers for index in lexicon.of_trigger[word]}
    speakers = _SPEAKERS[line.side]
    for index in sorted(tried):
        phrase = lexicon.phrases[index]
        if phrase.speaker not in speakers:
            continue
        if sounds and phrase.sounded:
            for cue in _matches(phrase, sounds.text, line):
                yield replace(cue, start=sounds.starts[cue.start], end=sounds.starts[cue.end])
        else:
            yield from _matches(phrase, written if phrase.cased else plain, line)


def _without_overlaps(cues: Iterable[Cue]) -> Iterable[Cue]:
    # What both a language and the one that it builds on find is one cue.
    ends: dict[str, int] = {}
    for cue in sorted(cues, key=lambda cue: (cue.start, -cue.end)):
        if cue.start >= ends.get(cue.kind, 0):
            ends[cue.kind] = cue.end
            yield cue


def _matches(phrase: Phrase, text: str, line: Line) -> Iterable[Cue]:
    for match in phrase.pattern.finditer(text):
        start, end = match.span()
        if phrase.unless is None or not _excluded(phrase.unless, text, start, end):
            yield Cue(phrase.kind, line, start, end)


def _excluded(unless: re.Pattern[str], text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _LOOK_BACK_CHARS) : start]
    sentence = _SENTENCE_END.split(before)[-1]
    return unless.search(sentence) is not None or unless.search(text[start:end]) is not None
