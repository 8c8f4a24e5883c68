"""Outcome of a conversation: its resolution and the predicted satisfaction."""

from dataclasses import dataclass
from typing import Any

from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.ai.facts.gathering import Facts, examined, quoted
from app.ai.facts.reading import Reading
from app.ai.insights.linear import shipped
from app.ai.rules.closing import is_transferred
from app.ai.scoring.score import Score
from app.ai.wording.sentences import sentence
from app.ai.wording.words import percent, quote_at_end

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
        return (
            "escalated",
            facts.sentence("no_occasion.transferred"),
            quoted(facts.said("transfer")[:2]),
        )
    for item in score.judged:
        if item.criterion.rule == "resolution_confirmed" and item.answer.answer == "yes":
            if probability is not None and probability < _UNRESOLVED:
                break
            return "resolved", item.answer.explanation, item.answer.evidence
    if (remains := _remains(facts)) is not None:
        return remains
    if probability is None:
        return "unknown", _why_unknown(facts), ()
    return _likely(facts, probability)


def _why_unknown(facts: Facts) -> str:
    if not facts.dialogue.readable:
        return facts.dialogue.unread
    return sentence("not_judged.too_short" if facts.reading is not None else "not_judged.not_read")


def _remains(facts: Facts) -> tuple[str, str, tuple[Evidence, ...]] | None:
    # What the customer says last of it: after all that was done, or without any thanks for it.
    done = facts.said("success") + facts.said("done")
    pleased = [cue for kind in ("thanks", "praise", "solved") for cue in facts.heard(kind)]
    for kind, answers in (("gives_up", pleased), ("still_broken", done)):
        answered = max((cue.line.position for cue in answers), default=-1)
        cues = [cue for cue in facts.heard(kind) if cue.line.position >= answered]
        if cues:
            status = "partially_resolved" if done and kind == "still_broken" else "unresolved"
            return status, facts.sentence(f"resolution.{kind}"), quoted(cues, CONTRADICTS)
    return None


def _likely(facts: Facts, probability: float) -> tuple[str, str, tuple[Evidence, ...]]:
    done = facts.said("success") or facts.said("done")
    failed = sorted(
        facts.said("failure") + facts.said("no_result"),
        key=lambda cue: (cue.line.position, cue.start),
    )
    chance = percent(probability)
    if probability >= _RESOLVED:
        evidence = quoted(done[-1:]) or _last_words(facts)
        key = "resolution.probably" if done else "resolution.probably_unsaid"
        return "resolved", _told(facts, key, chance, evidence), evidence
    if probability < _UNRESOLVED:
        evidence = quoted(failed[-1:], CONTRADICTS) or _last_words(facts, CONTRADICTS)
        key = "resolution.hardly" if failed else "resolution.hardly_unsaid"
        return "unresolved", _told(facts, key, chance, evidence), evidence
    if done and failed:
        evidence = quoted(done[-1:]) + quoted(failed[-1:], CONTRADICTS)
        return "partially_resolved", _told(facts, "resolution.partly", chance, evidence), evidence
    evidence = _last_words(facts)
    return "unknown", _told(facts, "resolution.open", chance, evidence), evidence


def _told(facts: Facts, key: str, chance: str, evidence: tuple[Evidence, ...]) -> str:
    quotes = [quote_at_end(item.quote) for item in evidence]
    return facts.sentence(key, chance=chance, quote=quotes[0], failed=quotes[-1])


def _last_words(facts: Facts, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
    return examined(facts.dialogue.customer[-1:], polarity)


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
