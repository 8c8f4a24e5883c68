"""The deterministic events of a conversation: what was said where, to the character."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.ai.dialogue import Dialogue, Line, Side
from app.ai.lexicon import LEXICON
from app.ai.phrases import Entry, Speaker

_SEPARATOR = r"[^\w.!?\n]{1,3}"
_TRIGGER = re.compile(r"[a-z]+[0-9]?")
_SENTENCE_END = re.compile(r"[.!?\n]")
_UP_TO_WORDS = re.compile(r"<(\d)>")
_LOOK_BACK_CHARS = 200
# One character for one, so that offsets into the plain text hold in the text as written.
PLAIN = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'"})


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
        self._by_kind: dict[str, list[Cue]] = defaultdict(list)
        for cue in found:
            self._by_kind[cue.kind].append(cue)

    def of(
        self, kind: str, lines: Sequence[Line] | None = None, side: Side | None = None
    ) -> list[Cue]:
        """List the cues of a kind, of the given lines and side only."""
        found = self._by_kind.get(kind, [])
        if lines is not None:
            positions = {line.position for line in lines}
            found = [cue for cue in found if cue.line.position in positions]
        if side is not None:
            found = [cue for cue in found if cue.line.side is side]
        return found


def find_cues(dialogue: Dialogue) -> Cues:
    """Find the cues of an English dialogue; any other has none.

    Where it is not known who speaks, every phrase counts, whoever would have to say it.
    """
    if not dialogue.english:
        return Cues()
    return Cues(cue for line in dialogue.lines for cue in _cues_in(line))


def _cues_in(line: Line) -> list[Cue]:
    written = line.text.translate(PLAIN)
    # Lower-casing may lengthen a text that is not ASCII, and offsets must hold.
    plain = written.lower()
    if len(plain) != len(written):
        plain = "".join(char.lower() if len(char.lower()) == 1 else char for char in written)
    kinds = {kind for word in set(_TRIGGER.findall(plain)) for kind in _KINDS.get(word, ())}
    found = []
    for kind in _ORDER:
        if kind in kinds and _may_say(LEXICON[kind], line.side):
            text = written if LEXICON[kind].cased else plain
            found += _matches(kind, text, line)
    return found


def _matches(kind: str, text: str, line: Line) -> list[Cue]:
    unless = _UNLESS.get(kind)
    found = []
    for match in _COMPILED[kind].finditer(text):
        start, end = match.span()
        if unless is None or not _excluded(unless, text, start, end):
            found.append(Cue(kind, line, start, end))
    return found


def _excluded(unless: re.Pattern[str], text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _LOOK_BACK_CHARS) : start]
    sentence = _SENTENCE_END.split(before)[-1]
    return unless.search(sentence) is not None or unless.search(text[start:end]) is not None


def _may_say(entry: Entry, side: Side) -> bool:
    return (
        entry.speaker is Speaker.ANYONE
        or side is Side.UNKNOWN
        or (side.value == entry.speaker.value)
    )


def _compile(pattern: str) -> re.Pattern[str]:
    spelled = re.sub(
        r"<(\d)>",
        rf"(?:[\\w'$-]{{1,20}}{_SEPARATOR.replace(chr(92), chr(92) * 2)}){{0,\1}}",
        pattern,
    )
    return re.compile(r"\b(?:" + spelled.replace(" ", _SEPARATOR) + ")")


_ORDER = tuple(LEXICON)
_COMPILED = {kind: _compile("|".join(entry.patterns)) for kind, entry in LEXICON.items()}
_UNLESS = {kind: re.compile(entry.unless) for kind, entry in LEXICON.items() if entry.unless}
_KINDS: dict[str, list[str]] = defaultdict(list)
for _kind, _entry in LEXICON.items():
    for _word in _entry.triggers.split():
        _KINDS[_word].append(_kind)
