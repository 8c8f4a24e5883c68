"""What a conversation comes to: whether it was resolved, and how satisfied a reader would call it."""

from dataclasses import dataclass
from typing import Any

from app.ai.dialogue.evidence import CONTRADICTS, Evidence, whole
from app.ai.facts.gathering import Facts, places, quoted
from app.ai.facts.reading import Reading
from app.ai.insights.linear import shipped
from app.ai.rules.closing import is_transferred
from app.ai.scoring.score import Score

_RESOLVED, _UNRESOLVED = 0.7, 0.35
_LEAST_LINES = 4
_MIDDLE, _SPREAD = 3.2, 0.45


@dataclass(frozen=True, slots=True)
class Outcome:
    """`probability` is that of a resolution and `annoyed` that of an annoyed customer, 0 to 1.

    `satisfaction` is 1 to 5. All are None where the words are not read, or too few.
    """

    status: str
    probability: float | None
    annoyed: float | None
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


def outcome_of(facts: Facts, score: Score) -> Outcome:
    """Judge the outcome: what is said outright decides the status, else the probability does."""
    reading = facts.reading
    probability = annoyed = satisfaction = None
    if reading is not None and facts.dialogue.customer and _enough(facts):
        probability = round(shipped("resolved").probability(reading.features, reading.grams), 4)
        annoyed = round(shipped("annoyed").probability(reading.features, reading.grams), 4)
        abusive = {cue.line.position for cue in facts.said("profanity")}
        satisfaction = _satisfaction(reading, probability, len(abusive))
    status, explanation, evidence = _status(facts, score, probability)
    transferred = is_transferred(facts)
    readable = facts.dialogue.readable
    promised = bool(facts.said("commitment") or facts.said("next_step"))
    known = readable or facts.context.transferred is not None
    return Outcome(
        status=status,
        probability=probability,
        annoyed=annoyed,
        satisfaction=satisfaction,
        explanation=explanation,
        evidence=evidence,
        escalated=transferred if known else None,
        follow_up_promised=promised if readable else None,
    )


def _enough(facts: Facts) -> bool:
    return bool(facts.dialogue.service) and len(facts.dialogue.lines) >= _LEAST_LINES


def _status(
    facts: Facts, score: Score, probability: float | None
) -> tuple[str, str, tuple[Evidence, ...]]:
    if is_transferred(facts):
        return "escalated", "The customer was transferred.", quoted(facts.said("transfer")[:2])
    for item in score.judged:
        if item.criterion.rule == "resolution_confirmed" and item.answer.answer == "yes":
            if probability is not None and probability < _UNRESOLVED:
                break
            return "resolved", item.answer.explanation, item.answer.evidence
    if (remains := _remains(facts)) is not None:
        return remains
    if probability is None:
        reason = "" if facts.dialogue.readable else f" {facts.dialogue.unread}"
        return "unknown", f"Whether it was resolved is not judged.{reason}", ()
    return _likely(facts, probability)


def _remains(facts: Facts) -> tuple[str, str, tuple[Evidence, ...]] | None:
    # What the customer says last of it: after all that was done, or without any thanks for it.
    done = facts.said("success") + facts.said("done")
    pleased = [cue for kind in ("thanks", "praise", "solved") for cue in facts.heard(kind)]
    for kind, says, answers in (
        ("gives_up", "gives it up", pleased),
        ("still_broken", "says that it remains", done),
    ):
        answered = max((cue.line.position for cue in answers), default=-1)
        cues = [cue for cue in facts.heard(kind) if cue.line.position >= answered]
        if cues:
            status = "partially_resolved" if done and kind == "still_broken" else "unresolved"
            return status, f"The customer {says} ({places(cues)}).", quoted(cues, CONTRADICTS)
    return None


def _likely(facts: Facts, probability: float) -> tuple[str, str, tuple[Evidence, ...]]:
    done = facts.said("success") or facts.said("done")
    failed = sorted(
        facts.said("failure") + facts.said("no_result"),
        key=lambda cue: (cue.line.position, cue.start),
    )
    chance = f"By its course a resolution is {probability:.0%} likely"
    if probability >= _RESOLVED:
        if done:
            return "resolved", f"{chance}; it is done in {places(done)}.", quoted(done[-3:])
        return "resolved", f"{chance}.", _last_words(facts)
    if probability < _UNRESOLVED:
        if failed:
            where = f"{chance}; it fails in {places(failed)}."
            return "unresolved", where, quoted(failed[-3:], CONTRADICTS)
        return "unresolved", f"{chance}.", _last_words(facts, CONTRADICTS)
    if done and failed:
        where = f"{chance}; it fails in {places(failed)} and is done in {places(done)}."
        return "partially_resolved", where, quoted(done[-2:]) + quoted(failed[-2:], CONTRADICTS)
    return "unknown", f"{chance}.", ()


def _last_words(facts: Facts, polarity: str = "supports") -> tuple[Evidence, ...]:
    return tuple(whole(line.segment, polarity) for line in facts.dialogue.customer[-1:])


def _satisfaction(reading: Reading, probability: float, abusive_lines: int) -> float:
    # Weights set by hand: feeling first, then what is said of it, then how it ended.
    values = reading.features
    raw = (
        2 * values["sentimentMean"]
        + 0.2 * values["customer.praise"] ** 2
        + 0.2 * values["customer.thanks"] ** 2
        - 0.2 * values["customer.rejection"] ** 2
        - 0.3 * values["customer.correction"]
        - 0.6 * values["agentEnd.failure"]
        - 0.4 * values["agentEnd.no_result"]
        - 0.1 * values["agent.bad_news"] ** 2
        - 0.5 * values["agentQuestions"]
        + 0.5 * (probability - 0.5)
        - abusive_lines
    )
    return round(min(5.0, max(1.0, _MIDDLE + _SPREAD * raw)), 2)
