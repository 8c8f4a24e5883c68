"""Outcome of a conversation: its resolution and the predicted satisfaction, as the ledger tells them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.judge.facts.contradictions import SOLVED, unopposed
from app.judge.facts.conversation_facts import Facts, distinct, examined, quoted, shown_act
from app.judge.facts.requests import (
    asks_nothing,
    state_evidence,
    state_sentences,
    surely_told,
    takeovers,
    unanswered_calls,
    was_transferred,
    worst_first,
)
from app.judge.insights.telling import OUTCOME
from app.judge.insights.telling import quoted as quoted_lines
from app.judge.ledger.entries import CLOSED, Entry, State
from app.judge.ledger.status import (
    ESCALATED,
    PARTLY,
    RESOLVED,
    UNKNOWN,
    UNRESOLVED,
    probability_within,
    stated_status,
)
from app.judge.wording import sentence

# How likely a reader gives a status at least where lines do not surely state it.
_SURELY = {RESOLVED: 0.65, PARTLY: 0.4, UNRESOLVED: 0.5, ESCALATED: 0.5, UNKNOWN: 0.0}
_ENDED = {
    RESOLVED: "resolution.likely",
    PARTLY: "resolution.in_part",
    UNRESOLVED: "resolution.unlikely",
    ESCALATED: "resolution.handed_over",
    UNKNOWN: "resolution.open",
}
_TOLD, _CLOSED = 0.35, 0.5
# How the requests end that a status tells of.
_CLOSES = {RESOLVED: True, UNRESOLVED: False}
_HANDED = (Act.TRANSFER, Act.NAME)
_PROMISES = (Act.PROMISE, Act.PROMISE_BY, Act.NEXT)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`probability` is that of a resolution, 0 to 1, and `satisfaction` is 1 to 5.

    Both are None where the words are not read, or too few.
    """

    status: str
    probability: float | None
    satisfaction: float | None
    explanation: str
    evidence: tuple[Evidence, ...]
    escalated: bool | None
    follow_up_promised: bool | None

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "probability": self.probability,
            "explanation": self.explanation,
            "evidence": [item.as_json() for item in self.evidence],
            "followUpPromised": self.follow_up_promised,
            "escalated": self.escalated,
        }


@dataclass(frozen=True, slots=True)
class Resolution:
    status: str
    explanation: str
    evidence: tuple[Evidence, ...] = ()
    probability: float | None = None


def outcome_of(facts: Facts) -> Outcome:
    """Judge the outcome: what lines state decides the status, otherwise the probability does."""
    resolution = _resolution(facts)
    readable = facts.dialogue.readable or facts.read_by_model
    is_known = readable or facts.context.transferred is not None
    return Outcome(
        status=resolution.status,
        probability=resolution.probability,
        satisfaction=None
        if facts.opinion is None
        else round(facts.opinion.rating("satisfaction"), 2),
        explanation=resolution.explanation,
        evidence=resolution.evidence,
        escalated=_is_escalated(facts) if is_known else None,
        follow_up_promised=_is_promised(facts) if readable else None,
    )


def _is_escalated(facts: Facts) -> bool:
    transferred = facts.context.transferred
    return bool(facts.said("transfer")) if transferred is None else transferred


def _is_promised(facts: Facts) -> bool:
    if not facts.dialogue.attributed:
        return bool(facts.said("commitment", "next_step"))
    return any(line.shows(*_PROMISES) for line in facts.acts.service)


def _resolution(facts: Facts) -> Resolution:
    """Take a second look at what the lines state: a reader may see it otherwise."""
    stated = stated_resolution(facts)
    if facts.opinion is None:
        return stated
    likely = facts.opinion.of("status", stated.status)
    status = stated.status if _is_certain(facts) else _believed(facts, stated.status, likely)
    seen = (facts.opinion.share("effectiveness") + likely[RESOLVED] + likely[PARTLY] / 2) / 2
    probability = probability_within(status, seen)
    if status == stated.status != UNKNOWN:
        return replace(stated, probability=probability)
    return _likely(facts, status, probability)


def _believed(facts: Facts, stated: str, likely: Mapping[str, float]) -> str:
    """Return the status that a reader would give: what lines state needs less, and good news the most."""
    best = max(_possible(facts), key=likely.__getitem__)
    if likely[best] >= _SURELY[best]:
        return best
    told = [surely_told(facts, entry) is not None for entry in facts.ledger.matters]
    closed = [entry.closed for entry in facts.ledger.matters]
    least = _TOLD if all(told) else _CLOSED if all(closed) else _SURELY[stated]
    return stated if likely[stated] >= least else UNKNOWN


def _possible(facts: Facts) -> list[str]:
    """List the statuses that lines do not rule out: for a part, or a handover, there has to be one."""
    matters = facts.ledger.matters
    some = any(entry.last(*CLOSED) for entry in matters)
    handed = bool(takeovers(facts)) and not all(entry.closed for entry in matters)
    return [RESOLVED, UNRESOLVED, UNKNOWN, *[PARTLY] * some, *[ESCALATED] * handed]


def _likely(facts: Facts, status: str, probability: float) -> Resolution:
    """Tell a status that no line states, with those requests that ended so."""
    entries = worst_first(facts.ledger.matters)
    if status == ESCALATED:
        evidence = distinct(shown_act(line, _HANDED) for line in takeovers(facts))
        return Resolution(status, facts.sentence(_ENDED[status]), evidence, probability)
    if status == UNKNOWN:
        entries = [entry for entry in entries if not entry.closed and surely_told(facts, entry)]
        told = [facts.sentence(_ENDED[status]), *state_sentences(facts, entries)]
    else:
        entries = [entry for entry in entries if entry.closed is _CLOSES.get(status)]
        told = [_told(facts, entries, status) or facts.sentence(_ENDED[status])]
    return Resolution(status, " ".join(told), _shown(facts, entries, status), probability)


def _is_certain(facts: Facts) -> bool:
    """Tell whether no second look is needed, or none can be taken."""
    told_otherwise = facts.context.transferred is not None or bool(unanswered_calls(facts))
    denied = any(entry.state is State.DENIED for entry in facts.ledger.matters)
    return facts.read_by_model or told_otherwise or denied


def stated_resolution(facts: Facts) -> Resolution:
    """Tell the status that lines state: unknown where they state none."""
    if was_transferred(facts):
        evidence = distinct(shown_act(line, _HANDED) for line in takeovers(facts))
        known = facts.context.transferred is not None
        told = "no_occasion.transferred" if known else _ENDED[ESCALATED]
        return Resolution(ESCALATED, facts.sentence(told), evidence)
    if asks_nothing(facts):
        evidence = examined(facts.dialogue.customer[:1], SUPPORTS)
        return Resolution(RESOLVED, facts.sentence("no_occasion.praise"), evidence)
    status = stated_status(facts.ledger)
    unanswered = unanswered_calls(facts)
    if unanswered and status != RESOLVED:
        explanation = facts.sentence("resolution.abandoned")
        return Resolution(UNRESOLVED, explanation, quoted(unanswered, CONTRADICTS))
    entries = worst_first(facts.ledger.matters)
    told = _told(facts, entries, status or UNKNOWN)
    why = told if status else told or _why_unknown(facts)
    return Resolution(status or UNKNOWN, why, _shown(facts, entries, status or UNKNOWN))


def _shown(facts: Facts, entries: Sequence[Entry], status: str) -> tuple[Evidence, ...]:
    """Quote what became of the requests: where no line surely tells it, what a reader would quote."""
    sure = [entry for entry in entries if surely_told(facts, entry) is not None]
    quotes = () if sure or status == UNKNOWN else quoted_lines(facts, status, OUTCOME)
    for told in (
        (state_evidence(facts, entry) for entry in sure),
        (item.evidence for item in quotes),
        (state_evidence(facts, entry) for entry in entries),
    ):
        if evidence := distinct(unopposed(facts, told, SOLVED if status == RESOLVED else status)):
            return evidence
    return examined(facts.dialogue.customer[-1:], SUPPORTS)


def _told(facts: Facts, entries: Sequence[Entry], status: str) -> str:
    """Say what became of the requests; of a part that was done, never that alone."""
    sure = {entry.closed for entry in entries if surely_told(facts, entry) is not None}
    if status == PARTLY and sure != {True, False}:
        return facts.sentence(_ENDED[PARTLY])
    return " ".join(state_sentences(facts, entries))


def _why_unknown(facts: Facts) -> str:
    if not facts.dialogue.readable and not facts.read_by_model:
        return facts.dialogue.unread_reason
    too_short = facts.dialogue.english and facts.dialogue.attributed
    return sentence("not_judged.too_short" if too_short else "not_judged.not_read")
