"""A conversation as the finders read it: each speaker's turns in one text, and what was asked."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from app.ai.redaction.cues import Cue, Said, cues_of
from app.ai.redaction.digit_runs import CUT

# How far before a number, in characters, a cue of the same turn may stand.
_REACH = 90
# How many turns back what was asked still counts, and how many words say no more than "go on".
_TURNS_BACK = 3
_FEW_WORDS = 8
# After so many turns of others nobody continues a number.
_MOST_BETWEEN = 20
_JOINT = "\n"
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says in one go; speakers are told apart by any name.

    `is_service` says that an agent or a bot speaks, whose `name`, if known, is not masked.
    """

    speaker: str
    text: str
    is_service: bool = False
    name: str | None = None


@dataclass(slots=True)
class Talk:
    """Turns, with their words and cues read once."""

    turns: Sequence[Turn]
    _words: dict[int, frozenset[str]] = field(default_factory=dict)
    _all_words: frozenset[str] | None = None
    _cues: dict[int, list[Said]] = field(default_factory=dict)

    def changed(self, texts: Mapping[int, str]) -> "Talk":
        """Return the talk with these turns' texts in place; what was read of the others is kept."""
        turns = [
            replace(turn, text=texts[place]) if place in texts else turn
            for place, turn in enumerate(self.turns)
        ]
        words = {turn: words for turn, words in self._words.items() if turn not in texts}
        cues = {turn: cues for turn, cues in self._cues.items() if turn not in texts}
        return Talk(turns, _words=words, _cues=cues)

    def words(self, turn: int) -> frozenset[str]:
        """Return the words of a turn, in lower case."""
        if turn not in self._words:
            self._words[turn] = words_of(self.turns[turn].text)
        return self._words[turn]

    def has_any(self, words: frozenset[str]) -> bool:
        """Whether one of these words stands in the conversation."""
        if self._all_words is None:
            each_turn = (self.words(turn) for turn in range(len(self.turns)))
            self._all_words = frozenset().union(*each_turn)
        return not self._all_words.isdisjoint(words)

    def cues(self, turn: int) -> list[Said]:
        """Return the cues of a turn."""
        if turn not in self._cues:
            self._cues[turn] = cues_of(self.turns[turn].text)
        return self._cues[turn]

    def cue_at(self, turn: int, position: int) -> Cue | None:
        """Tell what a number is said to be: nearest before it in its turn, or asked just before."""
        cues = self.cues(turn)
        before = bisect_right(cues, position, key=attrgetter("end"))
        if before:
            said = cues[before - 1]
            return said.cue if position - said.end <= _REACH else None
        if position > _REACH:
            return None
        for back in range(turn - 1, max(-1, turn - 1 - _TURNS_BACK), -1):
            cues = self.cues(back)
            if cues:
                return cues[-1].cue
            # A question that names no number asks for something else.
            if "?" in self.turns[back].text:
                return None
        return None

    def before(self, turn: int) -> int | None:
        """Return the turn of another speaker right before a turn."""
        for back in range(turn - 1, max(-1, turn - 3), -1):
            if self.turns[back].speaker != self.turns[turn].speaker:
                return back
        return None

    def streams(self, turns: Sequence[int]) -> list["Stream"]:
        """Join these turns, speaker by speaker; what is read on over a short "okay" runs on."""
        of_speaker: dict[str, list[int]] = {}
        for turn in turns:
            of_speaker.setdefault(self.turns[turn].speaker, []).append(turn)
        return [self._stream(each) for each in of_speaker.values()]

    def _stream(self, turns: Sequence[int]) -> "Stream":
        parts: list[str] = []
        starts: list[int] = []
        length = 0
        for place, turn in enumerate(turns):
            if place:
                joint = _JOINT if self._is_continued(turns[place - 1], turn) else CUT
                parts.append(joint)
                length += len(joint)
            starts.append(length)
            parts.append(self.turns[turn].text)
            length += len(parts[-1])
        return Stream("".join(parts), tuple(turns), tuple(starts))

    def _is_continued(self, turn: int, later: int) -> bool:
        """Whether all that others say between two turns of a speaker is "go on"."""
        if later - turn > _MOST_BETWEEN:
            return False
        return all(self._says_go_on(between) for between in range(turn + 1, later))

    def _says_go_on(self, turn: int) -> bool:
        text = self.turns[turn].text
        return "?" not in text and len(text.split()) <= _FEW_WORDS and not self.cues(turn)


@dataclass(frozen=True, slots=True)
class Stream:
    """The turns of one speaker as one text: `starts` are the places where each begins."""

    text: str
    turns: tuple[int, ...]
    starts: tuple[int, ...]

    def place(self, position: int) -> tuple[int, int]:
        """Return the turn that a position lies in, and the position in its text."""
        at = bisect_right(self.starts, position) - 1
        return self.turns[at], position - self.starts[at]

    def shares(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Divide a stretch by turns: each turn with the start and the end in its text."""
        shares = []
        for at in range(bisect_right(self.starts, start) - 1, bisect_right(self.starts, end)):
            begin = self.starts[at]
            close = self.starts[at + 1] - 1 if at + 1 < len(self.starts) else len(self.text)
            if start < close and end > begin:
                shares.append((self.turns[at], max(start, begin) - begin, min(end, close) - begin))
        return shares


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, apostrophes made plain."""
    return frozenset(_WORD.findall(text.lower().replace("\u2019", "'")))
