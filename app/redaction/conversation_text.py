"""Conversation as the detectors read it: turns, their words and cues, and texts by speaker."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest
from operator import attrgetter

from app.redaction.digit_runs import CUT, CueMatch, NumberCue, cues_of, lower_case
from app.redaction.entities import Entity

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
# The most characters between a cue and a number of the same turn.
_CUE_DISTANCE = 90
# The most turns between a question and its answer.
_TURNS_BACK = 3
# A turn with more words is more than an invitation to continue, such as "okay, go on".
_MAX_INVITATION_WORDS = 8
# The most turns of others within which a speaker continues a number.
MAX_TURNS_BETWEEN = 20
_JOINT = "\n"
# So a line asks for the number of a card, and not whether it was paid by card.
_CARD_NUMBER = re.compile(
    r"\bcard(?:'s)? (?:number|no\b|details|digits)|\b(?:number|digits) (?:on|of|from) (?:the|your)\b"
    r"|\b(?:16|sixteen)[ -]digits?\b|\blong number\b|karten?[ -]?(?:nummer|daten)\b"
    r"|\bnummer (?:auf )?(?:ihrer|deiner|der) (?:\w+ ?)?karte"
    r"|\b(?:n[úu]mero|num[ée]ro|datos|dados|chiffres|d[íi]gitos) (?:\w+ ){1,4}(?:tarjeta|carte|cart[ãa]o)\b"
)
_LAST_DIGITS = re.compile(
    r"\blast (?:four|4)|\bletzten (?:vier|4)|\búltimos (?:cuatro|quatro|4)|\bderniers\b"
)
# Longer than the distance between a cue and what it announces, and than most of what is announced.
_REACH = 250
# To begin a search takes as long as to search so many characters.
_COST_OF_WINDOW = 100


@dataclass(frozen=True, slots=True)
class SpeakerTurn:
    """One turn; `speaker` is any key that is the same for all turns of a speaker.

    The turns of agents and bots have `is_service`; their `name`, if known, is not masked.
    """

    speaker: str
    text: str
    is_service: bool = False
    name: str | None = None


@dataclass(slots=True)
class ConversationText:
    """The turns of a conversation; their words and cues are computed once.

    `searched` counts the characters in which `matches_near` has looked for patterns.
    """

    turns: Sequence[SpeakerTurn]
    searched: int = 0
    _words: dict[int, frozenset[str]] = field(default_factory=dict)
    _all_words: frozenset[str] | None = None
    _cues: dict[int, list[CueMatch]] = field(default_factory=dict)
    _lower_case: dict[int, str] = field(default_factory=dict)

    def with_texts(self, texts: Mapping[int, str]) -> "ConversationText":
        turns = [
            replace(turn, text=texts[index]) if index in texts else turn
            for index, turn in enumerate(self.turns)
        ]
        words = {turn: words for turn, words in self._words.items() if turn not in texts}
        cues = {turn: cues for turn, cues in self._cues.items() if turn not in texts}
        lower_case_texts = {
            turn: text for turn, text in self._lower_case.items() if turn not in texts
        }
        return ConversationText(turns, _words=words, _cues=cues, _lower_case=lower_case_texts)

    def lower_case(self, turn: int) -> str:
        """Return the text of a turn in lower case, of the same length."""
        if turn not in self._lower_case:
            self._lower_case[turn] = lower_case(self.turns[turn].text)
        return self._lower_case[turn]

    def words(self, turn: int) -> frozenset[str]:
        """Return the words of a turn in lower case, with straight apostrophes."""
        if turn not in self._words:
            self._words[turn] = frozenset(
                _WORD.findall(self.turns[turn].text.lower().replace("\u2019", "'"))
            )
        return self._words[turn]

    def has_any(self, words: frozenset[str]) -> bool:
        """Return whether the conversation has one of these words."""
        if self._all_words is None:
            words_by_turn = map(self.words, range(len(self.turns)))
            self._all_words = frozenset().union(*words_by_turn)
        return not self._all_words.isdisjoint(words)

    def cues(self, turn: int) -> list[CueMatch]:
        if turn not in self._cues:
            self._cues[turn] = cues_of(self.lower_case(turn))
        return self._cues[turn]

    def cue_at(self, turn: int, position: int) -> NumberCue | None:
        """Return the cue of a number: the nearest before it in its turn, or that of a question."""
        cues = self.cues(turn)
        before = bisect_right(cues, position, key=attrgetter("end"))
        if before:
            nearest = cues[before - 1]
            return nearest.cue if position - nearest.end <= _CUE_DISTANCE else None
        if position > _CUE_DISTANCE:
            return None
        for back in range(turn - 1, max(-1, turn - 1 - _TURNS_BACK), -1):
            cues = self.cues(back)
            if cues:
                return cues[-1].cue
            # A question without a cue asks for something else.
            if "?" in self.turns[back].text:
                return None
        return None

    def asked_before(self, turn: int) -> Entity | None:
        """Return what a turn answers, if that is the number of a card or its security code."""
        for back in range(turn - 1, max(-1, turn - 1 - _TURNS_BACK), -1):
            cues = self.cues(back)
            if self.turns[back].speaker != self.turns[turn].speaker and cues:
                return _card_question(self.lower_case(back), cues)
            if cues or "?" in self.turns[back].text:
                return None
        return None

    def before(self, turn: int) -> int | None:
        """Return the nearest of the two turns before that another speaker has."""
        for back in range(turn - 1, max(-1, turn - 3), -1):
            if self.turns[back].speaker != self.turns[turn].speaker:
                return back
        return None

    def speaker_texts(self, turns: Iterable[int]) -> Iterator["SpeakerText"]:
        """Join the turns in which a speaker continues, so that a number over them is one run."""
        by_speaker: dict[str, list[list[int]]] = {}
        for turn in turns:
            of_speaker = by_speaker.setdefault(self.turns[turn].speaker, [])
            if of_speaker and self._is_continued(of_speaker[-1][-1], turn):
                of_speaker[-1].append(turn)
            else:
                of_speaker.append([turn])
        for of_speaker in by_speaker.values():
            for joined, later in zip_longest(of_speaker, of_speaker[1:]):
                yield self._speaker_text(joined, later[0] if later else None)

    def matches_near(
        self, pattern: re.Pattern[str], text: str, places: Iterable[int]
    ) -> Iterator[re.Match[str]]:
        """Yield the matches of a pattern that begin within a few hundred characters of these places.

        Most texts have few cues, and a pattern takes long where nothing calls for it.
        """
        end = 0
        for low, high in _windows(sorted(places)):
            self.searched += min(high, len(text)) - low + _COST_OF_WINDOW
            for match in pattern.finditer(text, max(low, end), high + _REACH):
                if match.start() > high:
                    break
                end = match.end()
                yield match

    def _speaker_text(self, turns: Sequence[int], later: int | None) -> "SpeakerText":
        texts = [self.lower_case(turn) for turn in turns]
        starts = accumulate((len(text) + len(_JOINT) for text in texts[:-1]), initial=0)
        text = _JOINT.join(texts)
        after = "" if later is None else CUT + self.lower_case(later)[:_CUE_DISTANCE]
        return SpeakerText(text + after, len(text), tuple(turns), tuple(starts))

    def _is_continued(self, turn: int, later: int) -> bool:
        """Return whether the turns of others in between only invite the speaker to continue."""
        if later - turn > MAX_TURNS_BETWEEN:
            return False
        return all(map(self._is_invitation, range(turn + 1, later)))

    def _is_invitation(self, turn: int) -> bool:
        text = self.turns[turn].text
        return (
            "?" not in text and len(text.split()) <= _MAX_INVITATION_WORDS and not self.cues(turn)
        )


def asks_for_card(text: str) -> bool:
    """Return whether a line asks for the number of a card or its security code."""
    lower = lower_case(text)
    return _card_question(lower, cues_of(lower)) is not None


def _card_question(text: str, cues: Sequence[CueMatch]) -> Entity | None:
    """Return what a text asks for by its last cue; the card itself may be named after its code."""
    last = [match.cue for match in cues[-2:]]
    if last[-1:] == [NumberCue.CVV] or last == [NumberCue.CVV, NumberCue.CARD]:
        return Entity.CVV
    asks = last[-1:] == [NumberCue.CARD] and _CARD_NUMBER.search(text)
    return Entity.CARD if asks and not _LAST_DIGITS.search(text) else None


@dataclass(frozen=True, slots=True)
class SpeakerText:
    """Turns of one speaker as one text in lower case; `starts` are the positions where they begin.

    The first words of the speaker's later turn follow at `end`: they may tell what a number is.
    """

    text: str
    end: int
    turns: tuple[int, ...]
    starts: tuple[int, ...]

    def turn_at(self, position: int) -> tuple[int, int]:
        """Return the turn at a position, and the position within the turn."""
        index = bisect_right(self.starts, position) - 1
        return self.turns[index], position - self.starts[index]

    def parts_by_turn(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Split a span by turns; return each turn with the start and end within it."""
        parts = []
        for index in range(bisect_right(self.starts, start) - 1, bisect_right(self.starts, end)):
            is_last = index + 1 == len(self.starts)
            turn_start = self.starts[index]
            turn_end = self.end if is_last else self.starts[index + 1] - 1
            if start < turn_end and end > turn_start:
                first, last = max(start, turn_start), min(end, turn_end)
                parts.append((self.turns[index], first - turn_start, last - turn_start))
        return parts


def _windows(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the surroundings of these places, without overlaps."""
    low = high = -1
    for place in places:
        # Up to there the search goes on for the end of a match.
        if low >= 0 and place - _REACH > high + _REACH:
            yield low, high
            low = -1
        low = max(0, place - _REACH) if low < 0 else low
        high = place + _REACH
    if low >= 0:
        yield low, high


def places_of(cues: Iterable[str], lower_case_text: str) -> list[int]:
    """Return where a text in lower case has these cues; some of many in one place are left out."""
    return [
        place for cue in cues if cue in lower_case_text for place in _places(lower_case_text, cue)
    ]


def _places(text: str, cue: str) -> Iterator[int]:
    place = text.find(cue)
    while place >= 0:
        yield place
        # Those in between are in reach of this one and of the last in its reach.
        place = max(place, text.rfind(cue, place, place + _REACH + len(cue)))
        yield place
        place = text.find(cue, place + len(cue))


def split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())
