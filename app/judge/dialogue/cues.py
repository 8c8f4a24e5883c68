"""Cues: the events of a conversation, to the character."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.judge.dialogue.turns import Dialogue, Line, Side
from app.judge.languages.detection import ENGLISH, HINDI, ROMANISED_HINDI
from app.judge.languages.lexicon import (
    Lexicon,
    Phrase,
    Speaker,
    breach_phrases,
    lexicon_of,
    plain_of,
    sounds_of,
    stems_in,
)

_SENTENCE_END = re.compile("[.!?\u0964\n]")
_LOOK_BACK_CHARS = 200
# The speakers whose phrases count for each side; all of them where the speaker is unknown.
_SPEAKERS = {
    Side.SERVICE: (Speaker.ANYONE, Speaker.SERVICE),
    Side.CUSTOMER: (Speaker.ANYONE, Speaker.CUSTOMER),
    Side.OTHER: (Speaker.ANYONE,),
    Side.UNKNOWN: tuple(Speaker),
}
# Kinds with which the service side opens, before it knows what the customer wants.
_GREETINGS = ("greeting", "purpose")


@dataclass(frozen=True, slots=True)
class Cue:
    """One event, shown by `text[start:end]` of its line."""

    kind: str
    line: Line
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.line.text[self.start : self.end]

    @property
    def place(self) -> tuple[int, int]:
        """Return the position of the line and the start within it, which order cues."""
        return self.line.position, self.start


class Cues:
    """All cues of a dialogue, in the order in which they were said."""

    def __init__(self, cues: Iterable[Cue] = ()) -> None:
        self._by_kind: dict[tuple[str, Side | None], list[Cue]] = defaultdict(list)
        self._in_line: dict[int, list[Cue]] = defaultdict(list)
        for cue in cues:
            self._in_line[cue.line.position].append(cue)
            self._by_kind[cue.kind, None].append(cue)
            self._by_kind[cue.kind, cue.line.side].append(cue)

    def in_line(self, line: Line) -> Sequence[Cue]:
        return self._in_line.get(line.position, ())

    def of(
        self, *kinds: str, lines: Sequence[Line] | None = None, side: Side | None = None
    ) -> list[Cue]:
        """List the cues of some kinds, kind by kind; only those of these lines and this side."""
        cues = [cue for kind in kinds for cue in self._by_kind.get((kind, side), ())]
        if lines is None or not cues:
            return cues
        positions = {line.position for line in lines}
        return [cue for cue in cues if cue.line.position in positions]

    def positions(self, *kinds: str, side: Side | None = None) -> set[int]:
        return {cue.line.position for cue in self.of(*kinds, side=side)}


def find_cues(dialogue: Dialogue) -> Cues:
    """Find the cues of each line whose language has a lexicon; the others have none.

    Where speakers are unknown, the phrases of every speaker count.
    """
    if not dialogue.readable:
        return Cues()
    hindi = dialogue.language in (HINDI, ROMANISED_HINDI)
    cues: list[Cue] = []
    for line in dialogue.lines:
        lexicon = lexicon_of(line.language)
        if lexicon is None:
            continue
        in_line = _cues_in(line, lexicon)
        if line.language == ENGLISH and line.side in (Side.SERVICE, Side.CUSTOMER):
            in_line = [*in_line, *_breaches_in(line)]
        # Hindi speakers mix Hindi into lines that are mostly English.
        mixed = lexicon_of(ROMANISED_HINDI) if hindi and line.language == ENGLISH else None
        if mixed is not None:
            in_line = [*in_line, *_cues_in(line, mixed)]
        cues += _without_overlaps(in_line) if mixed or lexicon.builds_on else in_line
    return Cues(_of_the_course(dialogue, cues))


def first_request(dialogue: Dialogue, cues: Iterable[Cue]) -> tuple[Line, ...]:
    """Return the lines with which the customer opens a dialogue, at most after a greeting."""
    greeted = {cue.line.position for cue in cues if cue.kind in _GREETINGS}
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
    plain_cased = plain_of(line.text)
    plain = _lowered(plain_cased)
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
            yield from _matches(phrase, plain_cased if phrase.cased else plain, line)


def _lowered(text: str) -> str:
    plain = plain_of(text)
    lowered = plain.lower()
    # Lower-casing may lengthen a text that is not ASCII, and offsets must hold.
    if len(lowered) == len(plain):
        return lowered
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in plain)


def _breaches_in(line: Line) -> Iterable[Cue]:
    plain = _lowered(line.text)
    for phrase in breach_phrases():
        if phrase.speaker in _SPEAKERS[line.side]:
            yield from _matches(phrase, plain, line)


def _without_overlaps(cues: Iterable[Cue]) -> Iterable[Cue]:
    # A cue found by a lexicon and by the one that it builds on counts once.
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
