"""The lines of both sides in their context: how the customer feels and how the agent treats it.

What a line shows depends on what came before: thanks for nothing after a cold reply are no thanks.
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

from app.judge.acts.catalogue import Act
from app.judge.acts.reading import Acts, Mark
from app.judge.conduct.breaches import Breach, breaches_of
from app.judge.conduct.marks import Marks, likelihood, marks_of
from app.judge.dialogue.cues import Cues
from app.judge.dialogue.turns import Line, Side

NEGATIVE_LABELS = ("neg", "anger", "disapp", "sarcasm")
COURTESIES = ("warm", "empathy", "apology", "offer", "greet")
# A line shows a label where it is at least as likely as not.
SHOWN = 0.5
_FRIENDLY = 0.6
# Closing words soften a slightly negative line, unless it also complains.
_CLOSING = frozenset({"thanks", "nothing_more", "closing", "acceptance"})
_COMPLAINING = frozenset({"complaint", "still_broken", "gives_up", "rejection"})
_STRONG = 0.75
_SOFTENED = 0.4
# A line that may belittle or blame feels nothing with the customer, long before it is called rude.
_BELITTLES = 0.4
_RUDE, _MIXED = 0.6, 0.3
_SOFT_DIFFERENCE = 0.2
# How rude a line is at least that breaches good conduct.
_BREACHING = {Act.MOCK: 0.75, Act.THREATEN: 0.85, Act.PRESS: 0.5}
_TENSE = 0.45
_CONFUSED = 0.6
_NOT_UNDERSTOOD = re.compile(
    r"\b(?:understand|mean|meant|means|confus\w{2,4}|follow)\b|\A\W*(?:(?:what|huh|pardon)\W*)?\Z",
    re.IGNORECASE,
)
_LAUGHS = re.compile(
    r"\b(?:lol|(?:ha){2,5}|(?:he){2,5})\b|[:;]-?\)|[\U0001F600-\U0001F606]", re.IGNORECASE
)
# Phrases with which a reply refuses or fails, and how unhelpful it is then at least.
_REFUSING = frozenset({"failure", "no_result", "refusal", "bad_news"})
_REFUSED = 0.5
# How positive a word of praise is at least.
_PRAISING = 0.5


@dataclass(frozen=True, slots=True)
class _MarkedLine:
    line: Line
    marks: Marks

    def shows(self, label: str) -> float:
        """Return the probability of a label, 0 where nothing shows it."""
        return likelihood(self.marks, label)

    def strongest(self, labels: Iterable[str]) -> Mark:
        """Return the mark of the likeliest of the labels; the whole line where nothing shows any."""
        candidates = [self.marks[label] for label in labels if label in self.marks]
        return max(candidates, default=Mark(0.0, 0, len(self.line.text)))


@dataclass(frozen=True, slots=True)
class CustomerLine(_MarkedLine):
    """`negative` and `positive` are 0 to 1; `tension` remains from earlier negative lines."""

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
        return min(self.negative, self.shows("sat")) >= _MIXED


@dataclass(frozen=True, slots=True)
class AgentLine(_MarkedLine):
    """`rude` is 0 to 1, and so is `helpful`: something is done, promised or felt with the customer.

    `unhelpful` is 0 to 1 for a line that stalls, refuses or dismisses, `courteous` for one that greets,
    thanks, apologises or offers help.
    """

    rude: float
    helpful: float
    unhelpful: float
    courteous: float

    @property
    def is_rude(self) -> bool:
        return self.rude >= _RUDE

    @property
    def is_cold(self) -> bool:
        """Tell whether the line puts the customer off, without being rude or friendly."""
        return self.shows("stall") >= SHOWN > max(self.rude, self.helpful, self.courteous)

    @property
    def score(self) -> float:
        """Return the tone, -1 to 1."""
        return _FRIENDLY * self.courteous * (1 - self.rude) - self.rude

    @property
    def mixed(self) -> bool:
        """Tell whether the line is rude and courteous at once."""
        return min(self.rude, self.courteous) >= SHOWN


SpokenLine: TypeAlias = CustomerLine | AgentLine


@dataclass(frozen=True, slots=True)
class ReplyInContext:
    """A line of the agent right after one of the customer, and the customer's right after it."""

    before: CustomerLine
    agent: AgentLine
    after: CustomerLine | None

    @property
    def confuses(self) -> bool:
        """Tell whether the customer asks what the reply means, or what it leaves out."""
        if self.after is None or self.after.shows("conf") < _CONFUSED:
            return False
        # To a question of the agent, "where do I find that?" is an answer.
        asked = self.agent.line.text.rstrip().endswith("?")
        return not asked or _NOT_UNDERSTOOD.search(self.after.line.text) is not None


@dataclass(frozen=True)
class Readings:
    """The lines of the customer and of the service side, in their order, and what breaches good conduct."""

    lines: tuple[SpokenLine, ...]
    breaches: tuple[Breach, ...] = ()

    @cached_property
    def customer(self) -> tuple[CustomerLine, ...]:
        return tuple(line for line in self.lines if isinstance(line, CustomerLine))

    @cached_property
    def agent(self) -> tuple[AgentLine, ...]:
        return tuple(line for line in self.lines if isinstance(line, AgentLine))

    @cached_property
    def replies(self) -> tuple[ReplyInContext, ...]:
        after = (*self.lines[2:], None)
        return tuple(
            ReplyInContext(
                before, reply, following if isinstance(following, CustomerLine) else None
            )
            for before, reply, following in zip(self.lines, self.lines[1:], after, strict=False)
            if isinstance(before, CustomerLine) and isinstance(reply, AgentLine)
        )

    @cached_property
    def cold_replies(self) -> tuple[AgentLine, ...]:
        """Return the cold lines next to which the customer is upset."""
        return tuple(
            line
            for before, line, after in _with_neighbours(self.lines)
            if isinstance(line, AgentLine)
            and line.is_cold
            and (_tension_around(before, after) or 0.0) >= SHOWN
        )

    @cached_property
    def manners(self) -> float:
        """Return how well the agent behaves, 0 to 1: less with every rude or cold line."""
        manners_left = math.prod(1 - 0.5 * max(0.0, line.rude - 0.25) / 0.75 for line in self.agent)
        stalling = sum(
            max(0.0, line.shows("stall") - 0.3) for line in self.agent if line.helpful < SHOWN
        )
        upset = any(line.negative >= SHOWN for line in self.customer)
        return manners_left / (1 + 0.15 * stalling * (1.0 if upset else 0.3))

    @property
    def courtesy(self) -> float:
        """Return the share of the agent's lines that are courteous, 0 to 1."""
        return sum(line.courteous >= SHOWN for line in self.agent) / max(1, len(self.agent))


def readings_of(cues: Cues, acts: Acts, *, by_model: bool = False) -> Readings:
    """Read the lines whose acts are known in their context.

    Args:
        by_model: a language model has weighed friendly and rude words of a line already.
    """
    context, breaches = _Context(softens=not by_model), breaches_of(cues, acts)
    rude: dict[int, float] = {}
    for breach in breaches:
        position = breach.line.line.position
        rude[position] = max(rude.get(position, 0.0), _BREACHING.get(breach.act, 0.0))
    lines: list[SpokenLine] = []
    for line_acts in acts.lines:
        line = line_acts.line
        line_cues = cues.in_line(line)
        marks, kinds = marks_of(line_acts, line_cues), {cue.kind for cue in line_cues}
        lines.append(
            context.customer(line, marks, kinds)
            if line.side is Side.CUSTOMER
            else context.agent(line, marks, kinds, rude.get(line.position, 0.0))
        )
    return Readings(tuple(lines), breaches)


def _with_neighbours(
    lines: Sequence[SpokenLine],
) -> Iterable[tuple[SpokenLine | None, SpokenLine, SpokenLine | None]]:
    return zip((None, *lines), lines, (*lines[1:], None), strict=False)


def _tension_around(*around: SpokenLine | None) -> float | None:
    """Return how negative the customer is in these lines at most; None where none is the customer's."""
    feelings = [line.negative for line in around if isinstance(line, CustomerLine)]
    return max(feelings, default=None)


class _Context:
    """State after the lines so far: the customer's tension, the last line, and who has spoken."""

    def __init__(self, *, softens: bool) -> None:
        self._softens = softens
        self._tension = 0.0
        self._before: SpokenLine | None = None
        self._heard = False

    def agent(
        self, line: Line, marks: Marks, kinds: Collection[str], breaching: float
    ) -> AgentLine:
        if max(likelihood(marks, "dismissive"), breaching) >= _BELITTLES:
            # Who belittles or blames feels nothing with the customer, whatever it sounds like.
            marks = {label: mark for label, mark in marks.items() if label != "empathy"}
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
        if fallback:
            marks = _of_fallback(line, marks)
        line_read = AgentLine(
            line=line,
            marks=marks,
            rude=1.0
            if "profanity" in kinds
            else max(breaching, likely("dismissive") * (1 - 0.7 * softening * self._softens)),
            helpful=0.0 if fallback else helpful,
            unhelpful=max(
                likely("dismissive"),
                0.8 * likely("stall"),
                0.6 * likely("refusal"),
                0.0 if _REFUSING.isdisjoint(kinds) else _REFUSED,
            ),
            courteous=max(likelihood(marks, label) for label in COURTESIES),
        )
        if line_read.helpful >= SHOWN and line_read.rude < 0.4:
            self._tension /= 2
        self._before = line_read
        return line_read

    def customer(self, line: Line, marks: Marks, kinds: Collection[str]) -> CustomerLine:
        likely = partial(likelihood, marks)
        negative = max(likely("neg"), likely("anger"), 0.9 * likely("disapp"))
        # What sounds like sarcasm is joy where something was done, and fun where nothing was wrong.
        amused = self._tension < _TENSE and _LAUGHS.search(line.text) is not None
        if not ((self._is_served or amused) and negative < SHOWN):
            negative = max(negative, likely("sarcasm"))
        closes = not _CLOSING.isdisjoint(kinds) and _COMPLAINING.isdisjoint(kinds)
        # Nobody closes with their first words.
        if self._heard and closes and (negative < _STRONG or self._is_thanked(kinds)):
            negative *= _SOFTENED
        positive = likely("sat") * (1 - 0.7 * negative)
        claimed = max(positive, _PRAISING) if "praise" in kinds else positive
        negative, positive = self._in_context(negative, positive, claimed)
        self._tension = max(self._tension * (0.6 if positive > SHOWN else 0.9), negative)
        line_read = CustomerLine(line, marks, negative, positive, self._tension)
        self._before, self._heard = line_read, True
        return line_read

    @property
    def _is_served(self) -> bool:
        reply = self._before
        return isinstance(reply, AgentLine) and reply.shows("done") >= SHOWN

    def _is_thanked(self, kinds: Collection[str]) -> bool:
        # Thanks with praise for a helpful reply are no sarcasm.
        reply = self._before
        helped = isinstance(reply, AgentLine) and reply.helpful >= SHOWN
        return helped and {"thanks", "praise"}.issubset(kinds)

    def _in_context(self, negative: float, positive: float, claimed: float) -> tuple[float, float]:
        # Praise where nothing was given is meant the other way round, also if only a word of it was
        # found, which is `claimed`.
        reply = self._before
        if claimed <= 0.4 or self._tension <= _TENSE or not isinstance(reply, AgentLine):
            return negative, positive
        if reply.helpful >= SHOWN:
            return negative, positive
        if reply.unhelpful >= 0.3:
            return max(negative, 0.6), 0.0
        return negative, positive * (1 - self._tension)


def _of_fallback(line: Line, marks: Marks) -> Marks:
    # A bot's "sorry, I did not get that" is no apology.
    lowered = {
        label: mark._replace(probability=0.3 * mark.probability)
        if label in ("apology", "empathy")
        else mark
        for label, mark in marks.items()
    }
    stalling = lowered.get("stall", Mark(0.0, 0, len(line.text)))
    return {**lowered, "stall": stalling._replace(probability=max(0.8, stalling.probability))}
