"""Where the phrases of a scorecard are said: whole words in their order, in any case and script.

What stands between two words doesn't matter. Phrases are texts and never patterns, so that no author
of a scorecard can stop the machine, and looking for them is linear in what is said.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.ai.dialogue import Line, Side, Turn
from app.ai.evidence import SUPPORTS, Evidence, evidence_at
from app.ai.facts import Facts
from app.ai.words import LETTER

ANYONE = "anyone"
_SIDES = {"agent": Side.SERVICE, "customer": Side.CUSTOMER}
_WORD = re.compile(rf"(?:{LETTER})+")


@dataclass(frozen=True, slots=True)
class Found:
    """One place where a phrase is said; `place` is its turn and its first word, from 0."""

    place: tuple[int, int]
    lines: tuple[Line, ...]
    start: int
    end: int

    def evidence(self, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
        """Quote it, a piece for each segment that it spans."""
        return tuple(_pieces(self.lines, self.start, self.end, polarity))


def turns_of(facts: Facts, by: str, within: Mapping[str, int] | None = None) -> tuple[Turn, ...]:
    """Return the turns of one side, or of anyone; `within` the first or the last few of them.

    Where it is not known who speaks, all that is said is one turn.
    """
    found = facts.dialogue.turns
    if by != ANYONE and facts.dialogue.attributed:
        found = tuple(turn for turn in found if turn.side is _SIDES[by])
    within = within or {}
    if "firstTurns" in within:
        return found[: within["firstTurns"]]
    return found[-within.get("lastTurns", len(found)) :] if found else ()


def is_known_to_be(facts: Facts, by: str) -> bool:
    """Tell whether what is found is said by that side for sure."""
    return by == ANYONE or facts.dialogue.attributed


def said(turns: Sequence[Turn], phrases: Iterable[str]) -> Iterator[Found]:
    """Find every place where one of the phrases is said, in order."""
    by_first: defaultdict[str, list[list[str]]] = defaultdict(list)
    for phrase in phrases:
        words = [match[0].casefold() for match in _WORD.finditer(phrase)]
        if words:
            by_first[words[0]].append(words)
    for number, turn in enumerate(turns):
        spoken = list(_WORD.finditer(" ".join(line.text for line in turn.lines)))
        folded = [match[0].casefold() for match in spoken]
        for index, word in enumerate(folded):
            for words in by_first.get(word, ()):
                last = index + len(words) - 1
                if folded[index : last + 1] == words:
                    start, end = spoken[index].start(), spoken[last].end()
                    yield Found((number, index), turn.lines, start, end)
                    break


def statement_said(
    turns: Sequence[Turn], statement: Mapping[str, Any], after: tuple[int, int] = (-1, -1)
) -> Found | None:
    """Find where a statement is first made, in one of its phrases, after a place."""
    return next((found for found in said(turns, statement["anyOf"]) if found.place > after), None)


def _pieces(lines: Iterable[Line], start: int, end: int, polarity: str) -> Iterator[Evidence]:
    offset = 0
    for line in lines:
        first, last = max(0, start - offset), min(len(line.text), end - offset)
        if first < last and line.text[first:last].strip():
            yield evidence_at(line.segment, first, last, polarity)
        offset += len(line.text) + 1
