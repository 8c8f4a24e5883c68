"""Occurrences of the phrases of a scorecard in what one side says, as whole words in their order.

Phrases are texts and never patterns, so that no scorecard can make a search slow.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.ai.dialogue.evidence import SUPPORTS, Evidence, sentence_around
from app.ai.dialogue.turns import Line, Side, Turn
from app.ai.facts.conversation_facts import Facts
from app.ai.facts.phrase_index import IndexedTurns

ANYONE = "anyone"
_SIDES = {"agent": Side.SERVICE, "customer": Side.CUSTOMER}


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """One place where a phrase is said; `place` is its turn and where it begins in it, from 0."""

    place: tuple[int, int]
    lines: tuple[Line, ...]
    start: int
    end: int

    def evidence(self, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
        """Quote the sentence that it is said in, one for each segment that it spans."""
        return tuple(_pieces(self.lines, self.start, self.end, polarity))


@dataclass(frozen=True, slots=True)
class Window:
    """Some successive turns of one side, or of anyone, in which phrases are looked for."""

    spoken: IndexedTurns
    first: int
    end: int

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.spoken.turns[self.first : self.end]

    def said(
        self, phrases: Iterable[str], after: tuple[int, int] = (-1, -1)
    ) -> Iterator[PhraseMatch]:
        """Find every place after this one where one of the phrases is said, in order."""
        begin = max((self.first, 0), (after[0], after[1] + 1))
        for turn, start, end in self.spoken.index.find(phrases, begin, self.end):
            yield PhraseMatch((turn, start), self.spoken.turns[turn].lines, start, end)

    def first_said(
        self, phrases: Iterable[str], after: tuple[int, int] = (-1, -1)
    ) -> PhraseMatch | None:
        """Find the first place after this one where one of the phrases is said."""
        return next(self.said(phrases, after), None)


def window_of(facts: Facts, by: str, within: Mapping[str, int] | None = None) -> Window:
    """Return the turns of one side, or of anyone; `within` the first or the last few of them.

    Where speakers are unknown, the whole conversation is one turn.
    """
    side = _SIDES[by] if by != ANYONE and facts.dialogue.attributed else None
    indexed = facts.phrases.of(side)
    count, within = len(indexed.turns), within or {}
    if "firstTurns" in within:
        return Window(indexed, 0, min(count, within["firstTurns"]))
    return Window(indexed, max(0, count - within.get("lastTurns", count)), count)


def is_known_to_be(facts: Facts, by: str) -> bool:
    """Tell whether a match is certain to come from that side."""
    return by == ANYONE or facts.dialogue.attributed


def statement_evidence(facts: Facts, statement: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Quote where a required statement is first made, a piece for each segment that it spans."""
    match = window_of(facts, "agent").first_said(statement["anyOf"])
    return () if match is None else match.evidence()


def _pieces(lines: Iterable[Line], start: int, end: int, polarity: str) -> Iterator[Evidence]:
    offset = 0
    for line in lines:
        first, last = max(0, start - offset), min(len(line.text), end - offset)
        if first < last and line.text[first:last].strip():
            yield sentence_around(line.segment, first, last, polarity)
        offset += len(line.text) + 1
