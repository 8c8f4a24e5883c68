"""Where the phrases of a scorecard are said: whole words in their order, in any case and script.

What stands between two words doesn't matter. Phrases are texts and never patterns, so that no author
of a scorecard can stop the machine, and looking for them is linear in what is said.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from unicodedata import normalize

from app.ai.dialogue.evidence import SUPPORTS, Evidence, sentence_around
from app.ai.dialogue.turns import Line, Side, Turn
from app.ai.facts.gathering import Facts
from app.ai.languages.phrases import folded
from app.ai.languages.words import LETTER, holds_unspaced

ANYONE = "anyone"
_SIDES = {"agent": Side.SERVICE, "customer": Side.CUSTOMER}
# Phrases by their first word and by how many words they have.
_ByFirst: TypeAlias = defaultdict[str, defaultdict[int, set[tuple[str, ...]]]]
_WORD = re.compile(rf"(?:{LETTER})++")


@dataclass(frozen=True, slots=True)
class Found:
    """One place where a phrase is said; `place` is its turn and where it begins in it, from 0."""

    place: tuple[int, int]
    lines: tuple[Line, ...]
    start: int
    end: int

    def evidence(self, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
        """Quote the sentence that it is said in, one for each segment that it spans."""
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
    by_first: _ByFirst = defaultdict(lambda: defaultdict(set))
    unspaced = []
    for phrase in phrases:
        words = tuple(folded(match[0]) for match in _WORD.finditer(phrase))
        if holds_unspaced(phrase):
            unspaced.append(_letters_of(phrase.strip()))
        elif words:
            by_first[words[0]][len(words)].add(words)
    for number, turn in enumerate(turns):
        text = " ".join(line.text for line in turn.lines)
        spans = {*_by_words(text, by_first), *_by_letters(text, unspaced)}
        for start, end in sorted(spans):
            yield Found((number, start), turn.lines, start, end)


def statement_said(
    turns: Sequence[Turn], statement: Mapping[str, Any], after: tuple[int, int] = (-1, -1)
) -> Found | None:
    """Find where a statement is first made, in one of its phrases, after a place."""
    return next((found for found in said(turns, statement["anyOf"]) if found.place > after), None)


def statement_evidence(facts: Facts, statement: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Quote where a required statement is first made, a piece for each segment that it spans."""
    found = statement_said(turns_of(facts, "agent"), statement)
    return () if found is None else found.evidence()


def _by_words(text: str, by_first: _ByFirst) -> Iterator[tuple[int, int]]:
    spoken = list(_WORD.finditer(text))
    fold = str.casefold if text.isascii() else folded
    words = tuple(fold(match[0]) for match in spoken)
    for index, word in enumerate(words):
        # One look for all phrases of a length, however many begin with the same word.
        for length, phrases in by_first.get(word, {}).items():
            if words[index : index + length] in phrases:
                yield spoken[index].start(), spoken[index + length - 1].end()


def _by_letters(text: str, phrases: Iterable[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    # Scripts that put no space between words have no words to compare.
    for phrase in phrases:
        for match in phrase.finditer(text):
            yield match.span()


def _letters_of(phrase: str) -> re.Pattern[str]:
    forms = dict.fromkeys(normalize(form, phrase) for form in ("NFC", "NFD"))
    # A voicing mark behind the last letter would make it another one.
    return re.compile(f"(?:{'|'.join(map(re.escape, forms))})(?![\u3099\u309a])", re.IGNORECASE)


def _pieces(lines: Iterable[Line], start: int, end: int, polarity: str) -> Iterator[Evidence]:
    offset = 0
    for line in lines:
        first, last = max(0, start - offset), min(len(line.text), end - offset)
        if first < last and line.text[first:last].strip():
            yield sentence_around(line.segment, first, last, polarity)
        offset += len(line.text) + 1
