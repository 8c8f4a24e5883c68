"""The lines of both sides in their context: how the customer feels and how the agent treats it.

What a line shows depends on what came before: thanks for nothing after a cold reply are no thanks.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

from app.ai.conduct.marks import Mark, Marks, likelihood, marks_of
from app.ai.dialogue.cues import Cues
from app.ai.dialogue.turns import Dialogue, Line, Side

_COURTESIES = ("warm", "empathy", "apology", "offer", "greet")
# A line shows a label where it is at least as likely as not.
SHOWN = 0.5
# Words of closing soften what sounds negative by little, unless a complaint stands beside them.
_CLOSING = frozenset({"thanks", "nothing_more", "closing", "acceptance"})
_COMPLAINING = frozenset({"complaint", "still_broken", "gives_up", "rejection"})
_STRONG = 0.75
_SOFTENED = 0.4
_SOFT_DIFFERENCE = 0.2


@dataclass(frozen=True, slots=True)
class CustomerLine:
    """`negative` and `positive` are 0 to 1; `tension` is what is left of earlier negative lines."""

    line: Line
    marks: Marks
    negative: float
    positive: float
    tension: float

    @property
    def score(self) -> float:
        """Return the feeling, -1 to 1."""
        difference = self.positive - self.negative
        return difference if abs(difference) > _SOFT_DIFFERENCE else difference / 2

    @property
    def mixed(self) -> bool:
        """Tell whether the line shows satisfaction and its opposite."""
        return min(self.negative, self.shows("sat")) >= SHOWN

    def shows(self, label: str) -> float:
        return likelihood(self.marks, label)


@dataclass(frozen=True, slots=True)
class AgentLine:
    """`rude` is 0 to 1, and so is `helpful`: something is done, promised or felt with the customer.

    `unhelpful` is 0 to 1 for a line that stalls, refuses or dismisses.
    """

    line: Line
    marks: Marks
    rude: float
    helpful: float
    unhelpful: float

    @property
    def is_rude(self) -> bool:
        return self.rude >= SHOWN

    @property
    def is_cold(self) -> bool:
        """Tell whether the line puts the customer off, without being rude."""
        return self.shows("stall") >= SHOWN > max(self.rude, self.helpful)

    @property
    def courteous(self) -> float:
        return max(map(self.shows, _COURTESIES))

    def shows(self, label: str) -> float:
        return likelihood(self.marks, label)


SpokenLine: TypeAlias = CustomerLine | AgentLine


@dataclass(frozen=True)
class Readings:
    """The lines of the customer and of the service side, in their order."""

    lines: tuple[SpokenLine, ...]

    @cached_property
    def customer(self) -> tuple[CustomerLine, ...]:
        return tuple(line for line in self.lines if isinstance(line, CustomerLine))

    @cached_property
    def agent(self) -> tuple[AgentLine, ...]:
        return tuple(line for line in self.lines if isinstance(line, AgentLine))


def readings_of(dialogue: Dialogue, cues: Cues) -> Readings | None:
    """Read an attributed dialogue in known languages; None of any other."""
    if not dialogue.attributed or not dialogue.readable:
        return None
    context = _Context()
    found: list[SpokenLine] = []
    for line in dialogue.lines:
        if line.side not in (Side.CUSTOMER, Side.SERVICE):
            continue
        said = cues.in_line(line)
        marks, kinds = marks_of(line, said), {cue.kind for cue in said}
        read = context.customer if line.side is Side.CUSTOMER else context.agent
        found.append(read(line, marks, kinds))
    return Readings(tuple(found))


class _Context:
    """What the lines so far have left: the tension, and the agent's last line."""

    def __init__(self) -> None:
        self._tension = 0.0
        self._last: AgentLine | None = None

    def agent(self, line: Line, marks: Marks, kinds: Collection[str]) -> AgentLine:
        likely = partial(likelihood, marks)
        fallback = "fallback" in kinds
        softening = max(
            likely("empathy"),
            likely("apology"),
            likely("offer"),
            0.8 * likely("done"),
            0.8 * likely("next"),
        )
        helpful = max(likely("empathy"), likely("done"), likely("next"), 0.8 * likely("apology"))
        found = AgentLine(
            line=line,
            marks=_of_fallback(marks) if fallback else marks,
            rude=likely("dismissive") * (1 - 0.7 * softening),
            helpful=0.0 if fallback else helpful,
            unhelpful=max(likely("dismissive"), 0.8 * likely("stall"), 0.6 * likely("refusal")),
        )
        if found.helpful >= SHOWN and found.rude < 0.4:
            self._tension /= 2
        self._last = found
        return found

    def customer(self, line: Line, marks: Marks, kinds: Collection[str]) -> CustomerLine:
        likely = partial(likelihood, marks)
        negative = max(likely("neg"), likely("anger"), 0.9 * likely("disapp"), likely("sarcasm"))
        if not _CLOSING.isdisjoint(kinds) and _COMPLAINING.isdisjoint(kinds) and negative < _STRONG:
            negative *= _SOFTENED
        positive = likely("sat") * (1 - 0.7 * negative)
        negative, positive = self._in_context(negative, positive)
        self._tension = max(self._tension * (0.6 if positive > SHOWN else 0.9), negative)
        return CustomerLine(line, marks, negative, positive, self._tension)

    def _in_context(self, negative: float, positive: float) -> tuple[float, float]:
        # Praise where nothing was given is meant the other way round.
        last = self._last
        if positive <= 0.4 or self._tension <= 0.45 or last is None or last.helpful >= SHOWN:
            return negative, positive
        if last.unhelpful >= 0.3:
            return max(negative, 0.6), 0.0
        return negative, positive * (1 - self._tension)


def _of_fallback(marks: Marks) -> Marks:
    # A bot's "sorry, I did not get that" is no apology.
    found = {
        label: mark._replace(probability=0.3 * mark.probability)
        if label in ("apology", "empathy")
        else mark
        for label, mark in marks.items()
    }
    stalling = found.get("stall", Mark(0.0, 0, 0))
    return {**found, "stall": stalling._replace(probability=max(0.8, stalling.probability))}
