"""Outcome of a conversation: its resolution and the predicted satisfaction, as the ledger tells them."""

from dataclasses import dataclass, replace
from typing import Any

from app.judge.acts.catalogue import Act
from app.judge.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.judge.facts.conversation_facts import Facts, distinct, examined, quoted, shown_act
from app.judge.facts.requests import (
    asks_nothing,
    state_evidence,
    state_sentence,
    unanswered_calls,
    was_transferred,
    worst_first,
)
from app.judge.ledger.entries import State
from app.judge.ledger.status import (
    ESCALATED,
    PARTLY,
    RESOLVED,
    UNKNOWN,
    UNRESOLVED,
    likely_status,
    probability_within,
    stated_status,
)
from app.judge.wording import percent, sentence

_MOST_TOLD = 3
_LIKELY = {
    RESOLVED: "resolution.likely",
    PARTLY: "resolution.in_part",
    UNRESOLVED: "resolution.unlikely",
    ESCALATED: "resolution.handed_over",
    UNKNOWN: "resolution.open",
}
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
    course, readable = facts.course, facts.dialogue.readable or facts.read_by_model
    is_known = readable or facts.context.transferred is not None
    return Outcome(
        status=resolution.status,
        probability=resolution.probability,
        satisfaction=None if course is None else round(course.satisfaction, 2),
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
    if facts.course is None or facts.opinion is None:
        return stated
    verdict, likely = facts.opinion.verdict("status", stated.status)
    status = stated.status if _is_certain(facts) else verdict or UNKNOWN
    seen = (facts.course.probability + likely[RESOLVED] + likely[PARTLY] / 2) / 2
    probability = probability_within(status, seen)
    if status == stated.status:
        return replace(stated, probability=probability)
    explanation = facts.sentence(_LIKELY[status], chance=percent(probability))
    return Resolution(status, explanation, _shown(facts), probability)


def _is_certain(facts: Facts) -> bool:
    """Tell whether no second look is needed, or none can be taken."""
    told_otherwise = facts.context.transferred is not None or bool(unanswered_calls(facts))
    denied = any(entry.state is State.DENIED for entry in facts.ledger.matters)
    return facts.reader is None or facts.read_by_model or told_otherwise or denied


def stated_resolution(facts: Facts) -> Resolution:
    """Tell the status by what lines state, otherwise by how the conversation went."""
    if was_transferred(facts):
        lines = [line for line in facts.acts.service if line.shows(Act.TRANSFER)]
        evidence = distinct(shown_act(line, (Act.TRANSFER,)) for line in lines)
        return Resolution(ESCALATED, facts.sentence("no_occasion.transferred"), evidence)
    if asks_nothing(facts):
        evidence = examined(facts.dialogue.customer[:1], SUPPORTS)
        return Resolution(RESOLVED, facts.sentence("no_occasion.praise"), evidence)
    status = stated_status(facts.ledger)
    unanswered = unanswered_calls(facts)
    if unanswered and status != RESOLVED:
        explanation = facts.sentence("resolution.abandoned")
        return Resolution(UNRESOLVED, explanation, quoted(unanswered, CONTRADICTS))
    if status is not None:
        return Resolution(status, _told(facts), _shown(facts))
    if facts.course is None:
        return Resolution(UNKNOWN, _told(facts) or _why_unknown(facts), _shown(facts))
    probability = facts.course.probability
    status = likely_status(facts.ledger, probability)
    key = _LIKELY[UNRESOLVED if status == PARTLY else status]
    explanation = facts.sentence(key, chance=percent(probability_within(status, probability)))
    return Resolution(status, f"{explanation} {_told(facts)}".strip(), _shown(facts))


def _told(facts: Facts) -> str:
    """Say what became of the requests, of the least fulfilled first."""
    entries = worst_first(facts.ledger.matters)
    sentences = dict.fromkeys(state_sentence(facts, entry) for entry in entries)
    return " ".join(list(sentences)[:_MOST_TOLD])


def _shown(facts: Facts) -> tuple[Evidence, ...]:
    entries = worst_first(facts.ledger.matters)
    return distinct(state_evidence(facts, entry) for entry in entries) or examined(
        facts.dialogue.customer[-1:], SUPPORTS
    )


def _why_unknown(facts: Facts) -> str:
    if not facts.dialogue.readable and not facts.read_by_model:
        return facts.dialogue.unread_reason
    too_short = facts.dialogue.english and facts.dialogue.attributed
    return sentence("not_judged.too_short" if too_short else "not_judged.not_read")
