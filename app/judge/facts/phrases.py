"""Phrases of a scorecard in a conversation: an index of what was said, and the matches in it.

Phrases are texts and never patterns, so that no scorecard can make a search slow. A trie holds all
of them: the cost grows with the length of the conversation and of the longest phrase, and not with
the number of phrases. A slot, such as `<amount>`, is an item that stands for any of the stretches
that were found for it.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import takewhile
from typing import Any, NamedTuple
from unicodedata import normalize

from app.judge.dialogue.evidence import SUPPORTS, Evidence, sentence_around
from app.judge.dialogue.turns import SIDES, Dialogue, Line, Side, Turn
from app.judge.facts.manner import Manner
from app.judge.facts.slots import SLOT, SLOT_OR_TEXT, KnownNames, slot_spans
from app.judge.languages.lexicon import folded
from app.judge.languages.words import WORD, holds_unspaced
from app.judge.scorecard.schema import ANYONE, phrases_in
from app.judge.scorecard.values import Scorecard
from app.transcript import Transcript

# Follows the items of each text. No item equals it, so that no phrase goes on into the next text.
_END = "\0"
# A voicing mark after the last letter makes it another letter.
_VOICING_MARKS = frozenset("\u3099\u309a")


class Place(NamedTuple):
    """An occurrence of a phrase: the number of the text, and its offsets in that text."""

    text: int
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """A node of a trie; from `places` to before `ends` are the items of the phrase that ends here.

    `slots` are the nodes behind a slot, by its name.
    """

    next: dict[str, "_Node"] = field(default_factory=dict)
    slots: dict[str, "_Node"] = field(default_factory=dict)
    places: "array[int]" = field(default_factory=lambda: array("l"))
    ends: "array[int]" = field(default_factory=lambda: array("l"))

    def add(self, items: Iterable[str]) -> "_Node":
        node = self
        for item in items:
            children = node.slots if SLOT.fullmatch(item) else node.next
            node = children.setdefault(item, _Node())
        return node


class _Layer:
    """Texts divided into items, words or characters, and a trie of phrases over these items."""

    def __init__(self) -> None:
        self.trie = _Node()
        self._items: list[str] = []
        self._starts, self._ends = array("l"), array("l")
        self._firsts = [0]
        # By the name of a slot and the item with which a stretch begins: the items after it.
        self._stretches: dict[tuple[str, int], list[int]] = {}

    def append(
        self, items: Iterable[tuple[str, int, int]], stretches: Iterable[tuple[str, int, int]] = ()
    ) -> None:
        """Append the items of the next text, and what may stand in slots, each with its offsets."""
        first = len(self._items)
        for item, start, end in items:
            self._items.append(item)
            self._starts.append(start)
            self._ends.append(end)
        for slot, start, end in stretches:
            begin = bisect_left(self._starts, start, first)
            after = bisect_left(self._starts, end, begin)
            if begin < after:
                self._stretches.setdefault((slot, begin), []).append(after)
        self._items.append(_END)
        self._starts.append(-1)
        self._ends.append(-1)
        self._firsts.append(len(self._items))

    def search(self, phrase_ends: Iterable[_Node]) -> None:
        """Record where the phrases occur that end in these nodes."""
        ends, items, root = set(map(id, phrase_ends)), self._items, self.trie
        for place, item in enumerate(items):
            if item not in root.next and not root.slots:
                continue
            reached = [(root, place)]
            while reached:
                node, after = reached.pop()
                if id(node) in ends and items[after] not in _VOICING_MARKS:
                    node.places.append(place)
                    node.ends.append(after)
                if (following := node.next.get(items[after])) is not None:
                    reached.append((following, after + 1))
                for slot, behind in node.slots.items():
                    reached += [(behind, end) for end in self._stretches.get((slot, after), ())]

    def occurrences(self, node: _Node, begin: tuple[int, int]) -> Iterator[Place]:
        """Yield the occurrences of a phrase from a text and an offset in it on."""
        text, offset = begin
        if text >= len(self._firsts) - 1:
            return
        # The last item of a text is its end, which has no offset.
        first = bisect_left(self._starts, offset, self._firsts[text], self._firsts[text + 1] - 1)
        for number in range(bisect_left(node.places, first), len(node.places)):
            place, after = node.places[number], node.ends[number]
            yield Place(
                bisect_right(self._firsts, place) - 1, self._starts[place], self._ends[after - 1]
            )


class PhraseIndex:
    """Occurrences of phrases in texts: whole words, in any case, whatever is between them.

    Phrases of scripts without spaces between words are found among any letters.
    """

    def __init__(
        self,
        texts: Sequence[str],
        phrases: Collection[str],
        names: KnownNames | None = None,
    ) -> None:
        """Index texts.

        Args:
            names: what may stand in the slots of names.
        """
        names = names or KnownNames(Transcript(()))
        self._words, self._letters = _Layer(), _Layer()
        self._nodes = {phrase: list(self._added(phrase)) for phrase in phrases}
        slots = {slot for phrase in phrases for slot in SLOT.findall(phrase)}
        for layer, items_of in ((self._words, _words_of), (self._letters, _letters_of)):
            ends = [
                node
                for nodes in self._nodes.values()
                for of_layer, node in nodes
                if of_layer is layer
            ]
            if ends:
                for text in texts:
                    stretches = (
                        (slot, *span) for slot in slots for span in slot_spans(slot, text, names)
                    )
                    layer.append(items_of(text), stretches)
                layer.search(ends)

    def find(self, phrases: Iterable[str], begin: tuple[int, int], end: int) -> Iterator[Place]:
        """Yield the places of any of the phrases in order, each once.

        Args:
            begin: the text, and the offset in it, of the first place that is wanted.
            end: the number of the first text that is not searched.
        """
        nodes = {
            id(node): (layer, node) for phrase in phrases for layer, node in self._nodes[phrase]
        }
        places = merge(*(layer.occurrences(node, begin) for layer, node in nodes.values()))
        last = None
        for place in takewhile(lambda place: place.text < end, places):
            if place != last:
                yield place
            last = place

    def _added(self, phrase: str) -> Iterator[tuple[_Layer, _Node]]:
        if holds_unspaced(phrase):
            for form in {normalize(form, phrase.strip()) for form in ("NFC", "NFD")}:
                yield (
                    self._letters,
                    self._letters.trie.add([item for item, *_ in _letters_of(form)]),
                )
        elif items := list(_items_of(phrase)):
            yield self._words, self._words.trie.add(items)


def _items_of(phrase: str) -> Iterator[str]:
    """Yield the folded words of a phrase, and its slots as they are written."""
    for part in SLOT_OR_TEXT.findall(phrase):
        if SLOT.fullmatch(part):
            yield part
        else:
            yield from (folded(match[0]) for match in WORD.finditer(part))


def _words_of(text: str) -> Iterator[tuple[str, int, int]]:
    fold = str.casefold if text.isascii() else folded
    for match in WORD.finditer(text):
        yield fold(match[0]), match.start(), match.end()


def _letters_of(text: str) -> Iterator[tuple[str, int, int]]:
    for place, character in enumerate(text):
        yield character.lower(), place, place + 1


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """One place where a phrase is said; `place` is its turn and where it begins in it, from 0."""

    place: tuple[int, int]
    lines: tuple[Line, ...]
    end: int

    def in_line(self) -> tuple[Line, int, int]:
        """Return the line in which it begins, and where it begins and ends in it."""
        offset = 0
        for line in self.lines:
            if self.place[1] <= offset + len(line.text):
                break
            offset += len(line.text) + 1
        return line, self.place[1] - offset, min(self.end - offset, len(line.text))

    def evidence(self, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
        """Quote the sentence that it is said in, one for each segment that it spans."""
        pieces, offset = [], 0
        for line in self.lines:
            first, last = max(0, self.place[1] - offset), min(len(line.text), self.end - offset)
            if first < last and line.text[first:last].strip():
                pieces.append(sentence_around(line.segment, first, last, polarity))
            offset += len(line.text) + 1
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Window:
    """Successive turns in which phrases are looked for: those from `first` to `end` of a side's.

    `messages` are those of its lines that count; all of them where that is None.
    """

    side_turns: tuple[Turn, ...]
    index: PhraseIndex
    first: int
    end: int
    messages: frozenset[int] | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.side_turns[self.first : self.end]

    @property
    def lines(self) -> list[Line]:
        return [line for turn in self.turns for line in turn.lines if self.has(line)]

    def has(self, line: Line) -> bool:
        """Tell whether a line counts."""
        return self.messages is None or line.position in self.messages

    def said(
        self,
        phrases: Iterable[str],
        after: tuple[int, int] = (-1, -1),
        manner: Manner = Manner(),  # noqa: B008 - it never changes
    ) -> Iterator[PhraseMatch]:
        """Find every place after this one where one of the phrases is said in a manner, in order."""
        begin = max((self.first, 0), (after[0], after[1] + 1))
        for turn, start, end in self.index.find(phrases, begin, self.end):
            match = PhraseMatch((turn, start), self.side_turns[turn].lines, end)
            line, *span = match.in_line()
            if self.has(line) and (manner.is_any or manner.allows(line, *span)):
                yield match

    def first_said(
        self,
        phrases: Iterable[str],
        after: tuple[int, int] = (-1, -1),
        manner: Manner = Manner(),  # noqa: B008 - it never changes
    ) -> PhraseMatch | None:
        """Find the first place after this one where one of the phrases is said in a manner."""
        return next(self.said(phrases, after, manner), None)


class SpokenPhrases:
    """The phrases of a scorecard in the turns of one side or of everyone; indexed on first use."""

    def __init__(self, dialogue: Dialogue, scorecard: Scorecard) -> None:
        self._dialogue, self._scorecard = dialogue, scorecard
        self._of: dict[Side | None, tuple[tuple[Turn, ...], PhraseIndex]] = {}
        self._names = KnownNames(dialogue.transcript)

    def window(self, by: str, within: Mapping[str, int] | None = None) -> Window:
        """Return the turns of one side, or of anyone; `within` the first or the last few turns or messages.

        Where speakers are unknown, the whole conversation is one turn.
        """
        side = SIDES[by] if by != ANYONE and self._dialogue.attributed else None
        if side not in self._of:
            turns = tuple(
                turn for turn in self._dialogue.turns if side is None or turn.side is side
            )
            texts = [" ".join(line.text for line in turn.lines) for turn in turns]
            self._of[side] = turns, PhraseIndex(texts, self._phrases(), self._names)
        turns, index = self._of[side]
        count, within = len(turns), within or {}
        if "firstTurns" in within:
            return Window(turns, index, 0, min(count, within["firstTurns"]))
        if "firstMessages" in within or "lastMessages" in within:
            positions = [line.position for turn in turns for line in turn.lines]
            first = within.get("firstMessages")
            messages = positions[:first] if first else positions[-within["lastMessages"] :]
            return Window(turns, index, 0, count, frozenset(messages))
        return Window(turns, index, max(0, count - within.get("lastTurns", count)), count)

    def speaker_known(self, by: str) -> bool:
        """Tell whether a match is certain to come from that side."""
        return by == ANYONE or self._dialogue.attributed

    def statement_evidence(self, statement: Mapping[str, Any]) -> tuple[Evidence, ...]:
        """Quote where the agent first makes a required statement, a piece for each segment."""
        match = self.window("agent").first_said(statement["anyOf"])
        return () if match is None else match.evidence()

    def _phrases(self) -> set[str]:
        return {
            phrase
            for criterion in self._scorecard.criteria
            for part in (criterion.parameters, criterion.applies_when)
            for phrase in phrases_in(part)
        }
