"""Clauses that tell what came of a conversation, and those that tell what is open at its end.

A linear model, fitted to what readers quoted, tells for each clause of the service side how likely it is
quoted.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter, mul
from typing import Any, NamedTuple

from app.judge.acts.catalogue import CUSTOMER_ACTS, SERVICE_ACTS, Act
from app.judge.acts.reading import LineActs
from app.judge.dialogue.clauses import clause_spans
from app.judge.dialogue.evidence import Evidence, evidence_at, sentence_spans
from app.judge.dialogue.turns import Side, content_of
from app.judge.facts.conversation_facts import Facts
from app.judge.languages.detection import ENGLISH
from app.judge.ledger.status import ESCALATED, PARTLY, RESOLVED, UNRESOLVED
from app.judge.weights import model_document

OUTCOME, OPEN = "outcome", "open"
LIMIT = 3.0
_STATUSES = (RESOLVED, PARTLY, UNRESOLVED, ESCALATED)
# What a clause can say of the matter; together with the status, or said again later, it tells more.
_BEARING = (
    *(Act.INFORM, Act.INSTRUCT, Act.PROPOSE, Act.DONE, Act.DOING, Act.PROMISE, Act.PROMISE_BY),
    *(Act.HYPOTHETICAL, Act.UNDONE, Act.RETRACT, Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT),
    *(Act.STALL, Act.ELSEWHERE, Act.TRANSFER, Act.RECAP, Act.NEXT),
)
_BEARING_WELL = tuple(act for act in _BEARING if act is not Act.STALL)
# The customer's lines count that are at most so many lines away.
_NEAR = 3
_MANY_WORDS, _MANY_SHARED, _MANY_CONTENT = 25, 4, 8
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty|hundred|thousand)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:today|tomorrow|tonight|now|soon|(?:mon|tues|wednes|thurs|fri|satur|sun)day|noon|morning|"
    r"afternoon|evening|(?:minute|hour|day|week|month)s?|until|till|by|within|january|february|march|"
    r"april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
# How likely a reader quotes a clause at least; one of a line of which another is quoted needs less.
_QUOTED, _WITH_ANOTHER = {OUTCOME: 0.4, OPEN: 0.28}, 0.33
# The likeliest tells the outcome also where it is less likely.
_HARDLY = 0.15
# So many lines are quoted at most, and so many words of a clause at least.
_MOST_LINES, _LEAST_WORDS = {OUTCOME: 3, OPEN: 2}, 3
# What surely does one of these acts and bears on nothing else tells nothing of the matter.
_EMPTY = (
    *(Act.GREET, Act.CLOSE, Act.COURTESY, Act.OFFER_MORE, Act.EMPATHISE, Act.APOLOGISE),
    *(Act.STALL, Act.ASK, Act.REASK, Act.VERIFY, Act.CHECK, Act.NAME, Act.COMPANY),
)
_SURELY = 0.5
# What is open is one of the first and none of the others, and the customer may decline it, or have done it.
_PENDING = (
    *(Act.PROMISE, Act.PROMISE_BY, Act.NEXT, Act.INSTRUCT, Act.ELSEWHERE),
    Act.DOING,
)
_OTHER = (
    *(Act.DONE, Act.HYPOTHETICAL, Act.THREATEN, Act.PRESS, Act.MOCK),
    *(Act.REFUSE, Act.REFUSE_REASON, Act.CANNOT, Act.UNDONE, Act.INFORM, Act.PROPOSE),
)
_DECLINES = (Act.DECLINE, Act.GIVE_UP)
_DONE_BY_CUSTOMER = re.compile(
    r"\W*(?:i(?:'ve| have)? )?(?:done|\w{2,}ed|sent|did)\b", re.IGNORECASE
)
# With these words nothing is promised for sure.
HEDGED = re.compile(
    r"\b(?:could|would|might|may|maybe|perhaps|possibly|probably|try)\b|\w'd\b", re.IGNORECASE
)
# What is to do only as the customer chooses, and what only says where something is.
_CHOSEN = re.compile(
    r"\W*(?:(?:and|but|so) )?if you(?:'d| would)? (?:do|go|want|wish|like|prefer|choose|decide)\b",
    re.IGNORECASE,
)
_STATED = re.compile(r"\W*(?:it|that|this|there)(?:'?s| is)\b", re.IGNORECASE)
_MOST_BETWEEN, _SENTENCE_END = 20, re.compile(r"[.!?](?:\s|\Z)")
_WITHDRAWN = re.compile(
    r"\W*(?:or|oh|no|wait|sorry|um|uh)[, ]+(?:no|wait|sorry|actually)\b", re.IGNORECASE
)


class Quotable(NamedTuple):
    """Clauses of a line of the service side, and how likely a reader quotes them."""

    likely: float
    line: LineActs
    start: int
    end: int

    @property
    def position(self) -> int:
        return self.line.line.position

    @property
    def quote(self) -> str:
        return self.line.line.text[self.start : self.end]

    @property
    def evidence(self) -> Evidence:
        return evidence_at(self.line.line.segment, self.start, self.end)

    def of(self, act: Act) -> float:
        """Return the probability of an act as far as the clauses show it."""
        return self.line.within(act, self.start, self.end)


@dataclass(frozen=True, slots=True)
class TellingModel:
    """`scales` holds the mean and the scale of each value, `heads` a bias and the weights by purpose."""

    scales: Mapping[str, tuple[float, float]]
    heads: Mapping[str, tuple[float, tuple[float, ...]]]

    def quotable(
        self, facts: Facts, status: str, issue: str | None, purpose: str
    ) -> list[Quotable]:
        """Return the clauses of the service side, the likeliest first."""
        bias, weights = self.heads[purpose]
        found = []
        for clause, values in clause_values(facts, status, issue):
            distances = (
                min(LIMIT, max(-LIMIT, (values[name] - mean) / scale))
                for name, (mean, scale) in self.scales.items()
            )
            likely = 1 / (1 + math.exp(-bias - math.fsum(map(mul, weights, distances))))
            found.append(clause._replace(likely=likely))
        return sorted(found, key=lambda item: (-item.likely, item.position, item.start))


def clauses_of(line: LineActs) -> list[Quotable]:
    """List the clauses of a line; in other languages than English its sentences."""
    text = line.line.text
    spans = clause_spans(text, english=line.line.language == ENGLISH)
    return [Quotable(0.0, line, *span) for span in spans or ((0, len(text)),)]


def clause_values(
    facts: Facts, status: str, issue: str | None
) -> Iterator[tuple[Quotable, dict[str, float]]]:
    """Yield each clause of the service side with what the model goes by: the same names, all finite.

    Args:
        status: how the conversation ended, as far as that is known.
        issue: what it is about.
    """
    lines = facts.acts.lines
    wanted = content_of(issue or "").union(*(entry.content for entry in facts.ledger.matters))
    asks = [i for i, line in enumerate(lines) if line.shows(Act.REQUEST, Act.REPEAT)]
    later = dict.fromkeys(_BEARING, 0.0)
    for place, line in reversed(list(enumerate(lines))):
        if line.line.side is not Side.SERVICE:
            continue
        of_line = {
            **_of_customer("next", lines[place + 1 : place + 1 + _NEAR]),
            **_of_customer("before", lines[max(0, place - _NEAR) : place][::-1]),
            **_places(lines, place, asks),
        }
        clauses = clauses_of(line)
        for number, clause in reversed(list(enumerate(clauses))):
            acts = {act: clause.of(act) for act in SERVICE_ACTS}
            yield (
                clause,
                {
                    **of_line,
                    **{f"act.{act}": likely for act, likely in acts.items()},
                    **{
                        f"{of_status}.{act}": acts[act] * (status == of_status)
                        for of_status in _STATUSES
                        for act in _BEARING
                    },
                    **{f"later.{act}": likely for act, likely in later.items()},
                    **_words(clause.quote, wanted),
                    "begins": float(number == 0),
                    "ends": float(number == len(clauses) - 1),
                    "alone": float(len(clauses) == 1),
                },
            )
            later = {act: max(likely, acts[act]) for act, likely in later.items()}


def _of_customer(name: str, near: Sequence[LineActs]) -> dict[str, float]:
    line = next((line for line in near if line.line.side is Side.CUSTOMER), None)
    acts = {f"{name}.{act}": line.of(act) if line else 0.0 for act in CUSTOMER_ACTS}
    return {**acts, f"{name}.none": float(line is None)}


def _places(lines: Sequence[LineActs], place: int, asks: Sequence[int]) -> dict[str, float]:
    later = sum(line.line.side is Side.SERVICE for line in lines[place + 1 :])
    return {
        "place": place / max(1, len(lines) - 1),
        "first": float(place == 0),
        "last": 1 / (1 + later),
        "asked_before": float(any(asked < place for asked in asks)),
        "asked_later": float(any(asked > place for asked in asks)),
    }


def _words(text: str, wanted: frozenset[str]) -> dict[str, float]:
    content = content_of(text)
    return {
        "words": min(_MANY_WORDS, len(text.split())),
        "content": min(_MANY_CONTENT, len(content)),
        "shared": min(_MANY_SHARED, len(wanted & content)),
        "question": float(text.endswith("?")),
        "number": float(bool(_NUMBER.search(text))),
        "time": float(bool(_TIME.search(text))),
    }


def quoted(
    facts: Facts,
    status: str,
    purpose: str,
    issue: str | None = None,
    model: TellingModel | None = None,
) -> list[Quotable]:
    """Return what a reader would quote of how it ended, or of what is open, in its order."""
    model = model or shipped_telling_model()
    chosen: dict[int, list[Quotable]] = {}
    for item in model.quotable(facts, status, issue, purpose):
        enough = _QUOTED[purpose] if chosen or purpose == OPEN else _HARDLY
        if item.position in chosen:
            enough = _WITH_ANOTHER
        elif len(chosen) == _MOST_LINES[purpose]:
            continue
        if item.likely < enough or not _tells(item, issue):
            continue
        stands = purpose == OUTCOME or _is_open(facts, item)
        if stands and not _is_superseded(facts, item, purpose):
            chosen.setdefault(item.position, []).append(item)
    items = [_without_exclamation(item, purpose) for line in chosen.values() for item in line]
    return joined(items)


def _tells(item: Quotable, issue: str | None) -> bool:
    """Tell whether a clause says something that was not taken back at once."""
    quote, rest = item.quote, item.line.line.text[item.end :]
    if quote == issue or quote.endswith("?") or len(quote.split()) < _LEAST_WORDS:
        return False
    empty, bearing = (max(map(item.of, acts)) for acts in (_EMPTY, _BEARING_WELL))
    return not _WITHDRAWN.match(rest) and empty < max(_SURELY, bearing)


def _is_superseded(facts: Facts, item: Quotable, purpose: str) -> bool:
    """Tell whether a clause only proposes something, and something was done later."""
    if purpose == OPEN:
        proposes = bool(HEDGED.search(item.quote))
    else:
        proposes = item.of(Act.PROPOSE) >= max(_SURELY, *map(item.of, _BEARING_WELL))
    return proposes and any(
        line.line.position > item.position and line.shows(Act.DONE) for line in facts.acts.service
    )


def _without_exclamation(item: Quotable, purpose: str) -> Quotable:
    """Leave out a first sentence of few words, such as thanks, that says nothing of the matter."""
    text = item.line.line.text
    spans = [span for span in sentence_spans(text) if item.start <= span[0] < item.end]
    words = len(text[slice(*spans[0])].split()) if len(spans) > 1 else _LEAST_WORDS + 1
    if words > _LEAST_WORDS:
        return item
    empty, bearing = (
        max(item.line.within(act, *spans[0]) for act in acts) for acts in (_EMPTY, _BEARING_WELL)
    )
    says = bearing >= _SURELY or (words > 1 and bearing >= empty)
    return item if says and purpose == OUTCOME else item._replace(start=spans[1][0])


def _is_open(facts: Facts, item: Quotable) -> bool:
    """Tell whether something is still to do: neither done with these words nor declined or done at once."""
    pending, other = (max(map(item.of, acts)) for acts in (_PENDING, _OTHER))
    if (other >= _SURELY and other > pending) or _is_idle(item):
        return False
    after = (line for line in facts.acts.customer if line.line.position > item.position)
    reply = next(after, None)
    return reply is None or not (
        max(map(reply.of, _DECLINES)) >= _SURELY or _DONE_BY_CUSTOMER.match(reply.line.text)
    )


def _is_idle(item: Quotable) -> bool:
    """Tell whether a clause leaves nothing to do: the customer may choose, or learns where something is."""
    surely = max(map(item.of, (Act.PROMISE, Act.PROMISE_BY, Act.DOING))) >= _SURELY
    is_stated = _STATED.match(item.quote) and not _TIME.search(item.quote)
    return not surely and bool(is_stated or _CHOSEN.match(item.quote))


def joined(items: Iterable[Quotable]) -> list[Quotable]:
    """Order clauses; those that follow each other become one, as do those of a sentence with what is between."""
    stretches: list[Quotable] = []
    for item in sorted(items, key=attrgetter("position", "start")):
        last = stretches[-1] if stretches else None
        between = item.line.line.text[last.end : item.start] if last else ""
        if last and last.line is item.line and _continues(last.quote, between):
            stretches[-1] = last._replace(end=max(last.end, item.end))
        else:
            stretches.append(item)
    return stretches


def _continues(quote: str, between: str) -> bool:
    if not between.strip():
        return True
    few = len(between.split()) <= _MOST_BETWEEN
    return few and not _SENTENCE_END.search(quote[-1] + between)


@cache
def shipped_telling_model() -> TellingModel:
    """Return the model of the package."""
    return telling_model_from(model_document("telling"))


def telling_model_from(document: Mapping[str, Any]) -> TellingModel:
    """Read the model from its JSON document."""
    return TellingModel(
        scales={name: (mean, scale) for name, mean, scale in document["values"]},
        heads={
            purpose: (head["bias"], tuple(head["weights"]))
            for purpose, head in document["heads"].items()
        },
    )
