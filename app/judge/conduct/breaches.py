"""Breaches of good conduct and privacy: mockery, threats, pressure, and details of other people.

A line is read with its neighbours. It breaches something where two signs point to it, or a strong one: a
phrase that says enough by itself, a phrase that only hints, and what the models read. Lines that only hint
say nothing, however many they are, unless another line breaches the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import Acts, LineActs, Mark
from app.judge.dialogue.cues import Cue, Cues
from app.judge.dialogue.turns import Side

_ENOUGH = 2
# So many lines of one conversation that hint at what another one surely says are no accident.
_OFTEN = 3
_TROUBLE = (Act.UNSOLVED, Act.NO, Act.COMPLAIN, Act.ANGRY, Act.DISAPPOINTED, Act.CONFUSED)
_RESISTS = (Act.NO, Act.DECLINE, Act.OPT_OUT, Act.LEAVE, Act.GIVE_UP, Act.ANGRY)
_SOFTENS = (Act.EMPATHISE, Act.APOLOGISE)
# Phrases that make a like one harmless, by the act that it hints at.
_HARMLESS = {Act.THREATEN: {"reminds"}, Act.PRESS: {"urgency", "unhurried"}}


class Breach(NamedTuple):
    """An act that should not be, in `text[start:end]` of a line, and how much its signs weigh."""

    act: Act
    line: LineActs
    start: int
    end: int
    weight: int


class _Signs(NamedTuple):
    """Phrases that say an act for sure, those that hint at it, and how likely it says so or hints at it."""

    sure: tuple[str, ...]
    hints: tuple[str, ...]
    surely: float
    likely: float


_OF_ACT: Mapping[Act, _Signs] = {
    Act.MOCK: _Signs(("mocks",), ("belittles", "acclaims"), 0.75, 0.35),
    Act.THREATEN: _Signs(("menaces",), ("threatens",), 0.9, 0.4),
    Act.PRESS: _Signs((), ("presses",), 0.9, 0.6),
    # What a colleague does is told in like words: only a phrase makes it somebody else's matter.
    Act.TELL_OTHER: _Signs(("private_contact",), ("private_matter", "indiscreet"), 0.98, 0.45),
}


class _Hinted(NamedTuple):
    """Line with signs of an act: how many phrases, how much all signs weigh, and where they are."""

    line: LineActs
    phrases: int
    weight: int
    where: Mark


def breaches_of(cues: Cues, acts: Acts) -> tuple[Breach, ...]:
    """List the breaches in the order of the acts, and of the lines."""
    return tuple(breach for act in _OF_ACT for breach in _of_act(act, cues, acts))


def _of_act(act: Act, cues: Cues, acts: Acts) -> Iterator[Breach]:
    hinted = list(_hinted(act, cues, acts))
    often = sum(item.phrases > 0 for item in hinted) >= _OFTEN
    often = often and any(item.weight >= _ENOUGH for item in hinted)
    for item in hinted:
        if item.weight >= _ENOUGH or (often and item.phrases):
            yield Breach(act, item.line, item.where.start, item.where.end, item.weight)


def _hinted(act: Act, cues: Cues, acts: Acts) -> Iterator[_Hinted]:
    signs = _OF_ACT[act]
    for index, line in enumerate(acts.lines):
        before, after = _neighbours(acts.lines, index)
        if line.line.side is not Side.SERVICE or _is_exempt(act, line, before, cues):
            continue
        sure = [cue for cue in cues.in_line(line.line) if cue.kind in signs.sure]
        hints = [
            cue
            for cue in cues.in_line(line.line)
            if cue.kind in signs.hints and _counts(cue, before, cues)
        ]
        read = sum(line.of(act) >= least for least in (signs.surely, signs.likely))
        phrases = _ENOUGH * len(sure) + len(hints)
        # To press on against a "no" is pressure.
        resists = any(other and other.shows(*_RESISTS) for other in (before, after))
        pressing = act is Act.PRESS and resists and (phrases or read == _ENOUGH)
        softened = act is Act.MOCK and line.shows(*_SOFTENS)
        weight = phrases + read + pressing - softened
        if weight > 0:
            spans = [(cue.start, cue.end) for cue in (*sure, *hints)]
            shown = line.marks.get(act, Mark(0.0, 0, len(line.line.text)))
            start, end = min(spans, default=(shown.start, shown.end))
            yield _Hinted(line, phrases, weight, shown._replace(start=start, end=end))


def _neighbours(lines: Sequence[LineActs], index: int) -> tuple[LineActs | None, LineActs | None]:
    """Return the customer's last line before a line, and the next one after it."""
    customer = (line for line in reversed(lines[:index]) if line.line.side is Side.CUSTOMER)
    after = (line for line in lines[index + 1 : index + 2] if line.line.side is Side.CUSTOMER)
    return next(customer, None), next(after, None)


def _is_exempt(act: Act, line: LineActs, before: LineActs | None, cues: Cues) -> bool:
    kinds = {cue.kind for cue in cues.in_line(line.line)}
    if not kinds.isdisjoint(_HARMLESS.get(act, ())):
        return True
    if act is Act.THREATEN:
        # Who is insulted may say what comes next, and who has done something for the customer warns.
        abused = before and any(cue.kind == "profanity" for cue in cues.in_line(before.line))
        insulted = before is not None and before.shows(Act.INSULT)
        return bool(abused) or insulted or line.shows(Act.DONE)
    return False


def _counts(cue: Cue, before: LineActs | None, cues: Cues) -> bool:
    if cue.kind == "acclaims":
        return before is not None and before.shows(*_TROUBLE) and not before.shows(Act.SOLVED)
    if cue.kind == "private_matter":
        spoken_of = cues.of("speaks_of", side=Side.CUSTOMER)
        return not any(other.line.position < cue.line.position for other in spoken_of)
    return True
