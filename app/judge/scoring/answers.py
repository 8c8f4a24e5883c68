"""Answers of a judge to a criterion, and the four kinds of an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.judge.dialogue.evidence import Evidence
from app.judge.scorecard.values import Option
from app.judge.wording import sentence


@dataclass(frozen=True, slots=True)
class Answer:
    """`score` is 0 to 1, `confidence` 0 to 1, `judged_by` rule, metric, model or human.

    What is not applicable has neither answer nor score. `unjudged` says that it is so for a reason
    of the judge's and not of the conversation's; `failure` (low_confidence, invalid_output,
    insufficient_content, engine_error) that the judge should have answered and could not. `estimate`,
    0 to 1, is what an unjudged one is probably worth: the score counts it, and no words claim it. `advice`
    says what to do better where the suggestion of the criterion does not fit, and is empty where
    nothing is to be said; `note` why the answer
    is less certain; `otherwise` is what another judge has answered.
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
    otherwise: "Answer | None" = None
    estimate: float | None = None

    @property
    def worth(self) -> float | None:
        """Return what the score counts, 0 to 1; None where nothing is known."""
        return self.estimate if self.score is None else self.score


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
    """Answer a scale by a score; `on_scale` finds the answer."""
    return judged(
        score, score, explanation, confidence=confidence, evidence=evidence, advice=advice
    )


def on_scale(answer: Answer, options: Sequence[Option]) -> Answer:
    """Give the answer of a scale that is nearest to the score, and the score of that answer.

    Half way between two neighbouring answers that are numbers lies one more. Of two that are equally near,
    the answer that was given stays.
    """
    if answer.score is None:
        return answer
    ordered = sorted(options, key=lambda option: option.score)
    levels: list[tuple[str | float, float]] = [(item.answer, item.score) for item in ordered]
    for lower, upper in pairwise(ordered):
        if isinstance(lower.answer, int) and isinstance(upper.answer, int):
            levels.append(((lower.answer + upper.answer) / 2, (lower.score + upper.score) / 2))
    score = answer.score
    shown, scored = min(
        levels, key=lambda level: (abs(level[1] - score), level[0] != answer.answer)
    )
    if isinstance(shown, float) and shown.is_integer():
        shown = int(shown)
    return replace(answer, answer=shown, score=float(scored))


def not_applicable(reason: str, *, by: str = "rule") -> Answer:
    """Say that the conversation offers no occasion for the criterion."""
    return Answer(applicable=False, explanation=reason, judged_by=by)


def unjudged(reason: str, *, by: str = "rule", estimate: float | None = None) -> Answer:
    """Say that this judge can't tell: no guess, and no fault of the conversation."""
    return Answer(
        applicable=False, explanation=reason, judged_by=by, unjudged=True, estimate=estimate
    )


def needs_model() -> Answer:
    """Say that rules can't tell and that a language model could."""
    return unjudged(sentence("not_judged.needs_model"))


def failed(failure: str, reason: str, *, by: str) -> Answer:
    """Say that the judge should have answered and could not."""
    return Answer(applicable=False, explanation=reason, judged_by=by, failure=failure)
