"""Outcome of a conversation: its resolution and the predicted satisfaction."""

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from app.ai.dialogue.cues import Cue
from app.ai.dialogue.evidence import CONTRADICTS, SUPPORTS, Evidence
from app.ai.dialogue.turns import Line
from app.ai.facts.conversation_facts import Facts, examined, quoted
from app.ai.facts.model_input import ModelInput
from app.ai.insights.linear import shipped_models
from app.ai.rules.closing import is_transferred
from app.ai.rules.course import (
    asks_nothing,
    last_request_for_person,
    mood_at_end,
    opt_out_confirmation,
    standing_refusal,
    unanswered_calls,
)
from app.ai.scoring.score import Score
from app.ai.wording import percent, quote_at_end, sentence

_RESOLVED, _UNRESOLVED = 0.7, 0.35
# A customer who closes with thanks says little where a resolution is less likely than not.
_DOUBTFUL = 0.5
_UNHAPPY = 0.4
_DONE = ("done", "success")
_FAILED = ("failure", "no_result", "refusal", "bad_news", "fallback")
_WRONG = ("problem", "still_broken")
_OBJECTIONS = ("rejection", "correction", "asks_again")
_LEAST_LINES = 4
# The probabilities that go with a status.
_RANGES = {
    "resolved": (0.5, 1.0),
    "partially_resolved": (0.3, 0.7),
    "escalated": (0.1, 0.7),
    "unresolved": (0.0, 0.4),
}
# Without anything remarkable, customers are rather satisfied; the spread is that of people's ratings.
_CONTENT, _SPREAD, _RUDENESS = 0.3, 1.2, 2.0
_UPSET = -0.3
_SATISFYING = {"resolved": 0.2, "escalated": -0.1, "unresolved": -0.2}


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


@dataclass(frozen=True, slots=True)
class _Resolution:
    """`stated`: a participant's words decide the status, not the model's probability."""

    status: str
    explanation: str
    evidence: tuple[Evidence, ...]
    stated: bool = False


def outcome_of(facts: Facts, score: Score) -> Outcome:
    """Judge the outcome: explicit statements decide the status, otherwise the probability does."""
    reading = facts.model_input
    probability = annoyed = satisfaction = None
    if reading is not None and facts.dialogue.customer and _enough(facts):
        chances = shipped_models().probabilities(reading.features, reading.grams)
        probability, annoyed = round(chances["resolved"], 6), round(chances["annoyed"], 4)
    resolution = _resolution(facts, score, probability)
    if reading is not None and probability is not None:
        satisfaction = _satisfaction(facts, reading, probability, resolution.status)
    transferred = facts.context.transferred
    if transferred is None:
        transferred = bool(facts.said("transfer"))
    readable = facts.dialogue.readable
    promised = bool(facts.said("commitment") or facts.said("next_step"))
    is_known = readable or facts.context.transferred is not None
    return Outcome(
        status=resolution.status,
        probability=_shown_probability(probability, resolution),
        annoyed=annoyed,
        satisfaction=satisfaction,
        explanation=resolution.explanation,
        evidence=resolution.evidence,
        escalated=transferred if is_known else None,
        follow_up_promised=promised if readable else None,
    )


def _shown_probability(predicted: float | None, resolution: _Resolution) -> float | None:
    """Fit the predicted probability into the range of the status; scale it where words decided."""
    if resolution.status not in _RANGES:
        return predicted
    if predicted is not None and not resolution.stated:
        return _fitted(predicted, resolution.status)
    return _scaled(0.5 if predicted is None else predicted, resolution.status)


def _fitted(predicted: float, status: str) -> float:
    low, high = _RANGES[status]
    return predicted if low <= predicted <= high else _scaled(predicted, status)


def _scaled(predicted: float, status: str) -> float:
    low, high = _RANGES[status]
    return round(low + (high - low) * predicted, 6)


def _enough(facts: Facts) -> bool:
    return bool(facts.dialogue.service) and len(facts.dialogue.lines) >= _LEAST_LINES


def _resolution(facts: Facts, score: Score, probability: float | None) -> _Resolution:
    if is_transferred(facts):
        evidence = quoted(facts.said("transfer")[:2])
        return _Resolution("escalated", facts.sentence("no_occasion.transferred"), evidence)
    if asks_nothing(facts):
        evidence = examined(facts.dialogue.customer[:1], SUPPORTS)
        return _Resolution("resolved", facts.sentence("no_occasion.praise"), evidence, stated=True)
    granted = opt_out_confirmation(facts)
    if granted is not None and not facts.heard(*_WRONG):
        explanation = facts.sentence("opt_out.confirmed")
        return _Resolution("resolved", explanation, quoted([granted]), stated=True)
    unanswered = unanswered_calls(facts)
    if unanswered and not facts.said(*_DONE):
        explanation = facts.sentence("resolution.abandoned")
        return _Resolution("unresolved", explanation, quoted(unanswered, CONTRADICTS), stated=True)
    return _ending(facts, _course(facts, score, probability))


def _course(facts: Facts, score: Score, probability: float | None) -> _Resolution:
    for item in score.judged:
        if item.criterion.rule == "resolution_confirmed" and item.answer.answer == "yes":
            if probability is not None and probability < _DOUBTFUL:
                break
            return _Resolution("resolved", item.answer.explanation, item.answer.evidence)
    if (stated := _stated(facts)) is not None:
        return stated
    if probability is None:
        return _Resolution("unknown", _why_unknown(facts), ())
    arranged = _arranged(facts)
    if arranged is not None and probability < _RESOLVED:
        evidence = quoted([arranged])
        explanation = facts.sentence("resolution.arranged", quote=quote_at_end(evidence[0].quote))
        return _Resolution("resolved", explanation, evidence, stated=True)
    return _likely(facts, probability)


def _ending(facts: Facts, course: _Resolution) -> _Resolution:
    """Correct a resolution by the mood at the end, which says more than the course did."""
    end = mood_at_end(facts)
    if end is None or (not end.is_bad and course.status not in ("unknown", "unresolved")):
        return course
    if not end.is_bad and course.status == "unresolved" and facts.heard("still_broken"):
        return course
    status = "unresolved" if end.is_bad else "resolved"
    if not end.is_bad and course.status == "unresolved" and facts.said("failure"):
        status = "partially_resolved"
    explanation = facts.sentence(f"resolution.ends_{end.mood}")
    return _Resolution(status, explanation, (end.evidence,), stated=True)


def _why_unknown(facts: Facts) -> str:
    if not facts.dialogue.readable:
        return facts.dialogue.unread_reason
    return sentence(
        "not_judged.too_short" if facts.model_input is not None else "not_judged.not_read"
    )


def _stated(facts: Facts) -> _Resolution | None:
    if (unresolved := _unresolved_at_end(facts)) is not None:
        return unresolved
    for key, cue in (
        ("asks_person", last_request_for_person(facts)),
        ("refused", standing_refusal(facts)),
        ("objected", _objection(facts)),
    ):
        if cue is not None:
            explanation = facts.sentence(f"resolution.{key}")
            return _Resolution("unresolved", explanation, quoted([cue], CONTRADICTS), stated=True)
    return None


def _unresolved_at_end(facts: Facts) -> _Resolution | None:
    # Only the customer's last word counts: after every action, or without later thanks.
    done = facts.said("success", "done")
    pleased = facts.heard("thanks", "praise", "solved")
    for kind, answers in (("gives_up", pleased), ("still_broken", done)):
        last_answer = max((cue.line.position for cue in answers), default=-1)
        cues = [cue for cue in facts.heard(kind) if cue.line.position >= last_answer]
        if cues:
            status = "partially_resolved" if done and kind == "still_broken" else "unresolved"
            return _Resolution(
                status, facts.sentence(f"resolution.{kind}"), quoted(cues, CONTRADICTS)
            )
    return None


def _arranged(facts: Facts) -> Cue | None:
    """Return the last completed action, unless something failed later or the customer objected."""
    done = max(facts.said(*_DONE), key=_position, default=None)
    if done is None:
        return None
    failed = max(map(_position, facts.said(*_FAILED)), default=-1)
    replies = [line for line in facts.readings.customer if line.line.position > _position(done)]
    objected = any(
        line.negative >= _UNHAPPY or facts.heard(*_OBJECTIONS, lines=[line.line])
        for line in replies
        if not _declines_help(facts, line.line)
    )
    return None if failed >= _position(done) or objected else done


def _objection(facts: Facts) -> Cue | None:
    """Return the customer's correction of the last completed action, unless thanks followed."""
    settled = facts.said(*_DONE) + facts.heard("thanks", "praise", "solved")
    last = max(settled, key=_position, default=None)
    if last is None or last.kind not in _DONE:
        return None
    for line in facts.dialogue.customer[::-1]:
        if line.position > _position(last) and not _declines_help(facts, line):
            corrected = facts.heard("correction", lines=[line])
            if corrected and facts.heard("rejection", lines=[line]):
                return corrected[0]
    return None


def _declines_help(facts: Facts, line: Line) -> bool:
    before = facts.dialogue.lines[: line.position][-1:]
    return bool(facts.said("offer_help", lines=before))


def _position(cue: Cue) -> int:
    return cue.line.position


def _likely(facts: Facts, probability: float) -> _Resolution:
    done = facts.said("success") or facts.said("done")
    failed = sorted(facts.said("failure", "no_result"), key=attrgetter("place"))
    chance = percent(probability)
    if probability >= _RESOLVED and (done or not _ill_treated(facts)) and not _fails_last(facts):
        evidence = quoted(done[-1:]) or _last_words(facts)
        key = "resolution.probably" if done else "resolution.probably_unsaid"
        return _Resolution("resolved", _explanation(facts, key, chance, evidence), evidence)
    if probability < _UNRESOLVED:
        evidence = quoted(failed[-1:], CONTRADICTS) or _last_words(facts, CONTRADICTS)
        key = "resolution.hardly" if failed else "resolution.hardly_unsaid"
        return _Resolution("unresolved", _explanation(facts, key, chance, evidence), evidence)
    if done and failed:
        chance = percent(_fitted(probability, "partially_resolved"))
        evidence = quoted(done[-1:]) + quoted(failed[-1:], CONTRADICTS)
        return _Resolution(
            "partially_resolved",
            _explanation(facts, "resolution.partly", chance, evidence),
            evidence,
        )
    evidence = _last_words(facts)
    return _Resolution(
        "unknown", _explanation(facts, "resolution.open", chance, evidence), evidence
    )


def _ill_treated(facts: Facts) -> bool:
    upset = (facts.sentiment.customer.overall or 0.0) <= _UPSET
    return upset or any(line.is_rude for line in facts.readings.agent)


def _fails_last(facts: Facts) -> bool:
    # After an action was completed, another one failed.
    done = max((cue.place for cue in facts.said(*_DONE)), default=None)
    return done is not None and any(cue.place > done for cue in facts.said("failure"))


def _explanation(facts: Facts, key: str, chance: str, evidence: tuple[Evidence, ...]) -> str:
    quotes = [quote_at_end(item.quote) for item in evidence]
    return facts.sentence(key, chance=chance, quote=quotes[0], failed=quotes[-1])


def _last_words(facts: Facts, polarity: str = SUPPORTS) -> tuple[Evidence, ...]:
    return examined(facts.dialogue.customer[-1:], polarity)


def pleasantness(facts: Facts, reading: ModelInput) -> float:
    """Return how pleasant the customer's words are, -1 to 1; those of an upset customer are sarcasm."""
    words = reading.features["sentimentMean"]
    upset = (facts.sentiment.customer.overall or 0.0) <= _UPSET
    return min(words, 0.0) if upset else words


def _satisfaction(facts: Facts, reading: ModelInput, probability: float, status: str) -> float:
    # Weights set by hand: feeling first, then what is said of it, then how it ended.
    values = reading.features
    points = (
        2 * pleasantness(facts, reading)
        + 0.5 * (facts.sentiment.customer.overall or 0.0)
        + 0.2 * values["customer.praise"] ** 2
        + 0.2 * values["customer.thanks"] ** 2
        - 0.2 * values["customer.rejection"] ** 2
        - 0.3 * values["customer.correction"]
        - 0.6 * values["agentEnd.failure"]
        - 0.4 * values["agentEnd.no_result"]
        - 0.1 * values["agent.bad_news"] ** 2
        - 0.5 * values["agentQuestions"]
        + 0.5 * (probability - 0.5)
        + _SATISFYING.get(status, 0.0)
    )
    points -= _RUDENESS * (1 - facts.readings.manners)
    share = 1 / (1 + math.exp(-(_CONTENT + _SPREAD * points)))
    return round(1 + 4 * share, 2)
