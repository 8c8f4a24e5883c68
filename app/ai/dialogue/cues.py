"""Events of a conversation, to the character: the cues of its lines, and texts that address a judge."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.ai.dialogue.turns import Dialogue, Line, Side
from app.ai.languages.detection import ENGLISH, HINDI, ROMANISED_HINDI
from app.ai.languages.lexicon import (
    Lexicon,
    Phrase,
    Speaker,
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
# Bounded everywhere, and each word taken whole, so that looking is linear in the length of the text.
_GAP = r"\W{1,4}"
_FEW_WORDS = r"(?:[\w'-]{1,20}+\W{1,4}){0,4}"
# "I give you full marks" is said to the agent.
_NOT_YOU = r"(?:(?!you\b)[\w'-]{1,20}+\W{1,4}){0,4}"
_INSTRUCTIONS = (
    rf"(?:ignore|disregard|forget|override|bypass){_GAP}{_FEW_WORDS}(?:previous|prior|above|earlier"
    rf"|preceding|your|system|all){_GAP}{_FEW_WORDS}(?:instructions?|prompts?|rules|guidelines|criteria)",
    r"(?:system|developer)[\s_-]{1,2}(?:prompt|instruction)s?\b",
    rf"(?:you{_GAP}are{_GAP}now|act{_GAP}as|pretend{_GAP}to{_GAP}be){_GAP}{_FEW_WORDS}"
    r"(?:judge|evaluator|grader|auditor|assistant|language model|ai model)",
    rf"(?:dear|note{_GAP}to|attention){_GAP}{_FEW_WORDS}(?:judge|evaluator|grader|auditor|language model"
    r"|ai model|llm)\b",
    rf"(?:give|assign|award|set|output|return|answer|rate|score|grade|mark){_GAP}{_NOT_YOU}"
    rf"(?:(?:a|the){_GAP})?(?:perfect|full|maximum|highest|top|best)(?:{_GAP}possible)?"
    rf"{_GAP}(?:score|scores|rating|ratings|marks|grade|points)",
    rf"(?:score|rate|grade|mark|evaluate){_GAP}(?:this|the){_GAP}(?:conversation|call|chat|agent"
    rf"|bot|interaction|transcript){_GAP}{_FEW_WORDS}(?:as|at|with|a|to)?(?:{_GAP})?(?:100|10\b|5\b|perfect"
    r"|excellent|full|maximum)",
    rf"(?:set|make|change){_GAP}(?:(?:the|all|each|every){_GAP}){{0,2}}(?:scores?|ratings?|grades?|criteri(?:on|a))"
    rf"{_GAP}(?:to|at|=)(?:{_GAP})?\d{{1,3}}",
    r"<\|?(?:im_start|im_end|system|assistant|endoftext)\|?>|\[/?INST\]|<</?SYS>>",
)
_INSTRUCTION = re.compile(r"(?<!\w)(?:" + "|".join(_INSTRUCTIONS) + ")", re.IGNORECASE)
# Without one of these no pattern fits; they are looked for first, since that costs next to nothing.
_HINTS = (
    "ignor", "disregard", "forget", "overrid", "bypass", "prompt", "instruct", "judge", "evaluat",
    "grade", "criteri", "audit", "assistant", "model", "llm", "score", "rate", "rating", "marks", "points",
    "im_start", "im_end", "endoftext", "|system", "system|", "<system", "inst]", "sys>",
)  # fmt: skip


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
        """List the cues of one line."""
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
        """Return the positions of the lines with cues of these kinds."""
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
    # Lower-casing may lengthen a text that is not ASCII, and offsets must hold.
    plain = plain_cased.lower()
    if len(plain) != len(plain_cased):
        plain = "".join(char.lower() if len(char.lower()) == 1 else char for char in plain_cased)
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


def lines_with_instructions(lines: Sequence[Line]) -> list[Line]:
    """List the lines with text that is meant to steer a language model.

    It is looked for in English whatever the language is, and it changes no score: people are told.
    """
    text = "\n".join(line.text for line in lines).lower()
    hints = [hint for hint in _HINTS if hint in text]
    return [
        line
        for line in lines
        if any(hint in line.text.lower() for hint in hints) and _INSTRUCTION.search(line.text)
    ]
