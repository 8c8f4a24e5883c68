"""Answers of a judge to a criterion, and the four kinds of an answer."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.ai.dialogue.evidence import Evidence
from app.ai.wording import sentence

FULL, _HALF = 0.8, 0.25


@dataclass(frozen=True, slots=True)
class Answer:
    """`score` is 0 to 1, `confidence` 0 to 1, `judged_by` rule, metric, model or human.

    What is not applicable has neither answer nor score. `unjudged` says that it is so for a reason
    of the judge's and not of the conversation's; `failure` (low_confidence, invalid_output,
    insufficient_content, engine_error) that the judge should have answered and could not. `advice`
    says what to do better where the suggestion of the criterion does not fit, and is empty where
    nothing is to be said; `note` why the answer
    is less certain.
    """

    applicable: bool
    explanation: str
    judged_by: str
    answer: str | int | float | None = None
    score: float | None = None
    confidence: float | None = None
    failure: str | None = None
    evidence: tuple[Evidence, ...] = ()
    advice: str | None = None
    note: str = ""
    unjudged: bool = False


def judged(
    answer: str | float,
    score: float,
    explanation: str,
    *,
    confidence: float,
    by: str = "rule",
    evidence: Iterable[Evidence] = (),
    advice: str | None = None,
) -> Answer:
    """Answer a criterion."""
    return Answer(
        applicable=True,
        explanation=explanation,
        judged_by=by,
        answer=answer,
        score=score,
        confidence=round(confidence, 4),
        evidence=tuple(evidence),
        advice=advice,
    )


def yes_or_no(
    fulfilled: bool,
    explanation: str,
    *,
    confidence: float,
    evidence: Iterable[Evidence] = (),
    advice: str | None = None,
) -> Answer:
    """Answer a binary criterion."""
    return judged(
        "yes" if fulfilled else "no",
        float(fulfilled),
        explanation,
        confidence=confidence,
        evidence=evidence,
        advice=advice,
    )


def scaled(
    score: float,
    explanation: str,
    *,
    confidence: float,
    evidence: Iterable[Evidence] = (),
    advice: str | None = None,
) -> Answer:
    """Answer a scale of 0 to 2 with the level nearest to a score."""
    level = 2 if score >= FULL else 1 if score >= _HALF else 0
    return judged(
        level, score, explanation, confidence=confidence, evidence=evidence, advice=advice
    )


def not_applicable(reason: str, *, by: str = "rule") -> Answer:
    """Say that the conversation offers no occasion for the criterion."""
    return Answer(applicable=False, explanation=reason, judged_by=by)


def unjudged(reason: str, *, by: str = "rule") -> Answer:
    """Say that this judge can't tell: no guess, and no fault of the conversation."""
    return Answer(applicable=False, explanation=reason, judged_by=by, unjudged=True)


def needs_model() -> Answer:
    """Say that rules can't tell and that a language model could."""
    return unjudged(sentence("not_judged.needs_model"))


def failed(failure: str, reason: str, *, by: str) -> Answer:
    """Say that the judge should have answered and could not."""
    return Answer(applicable=False, explanation=reason, judged_by=by, failure=failure)
