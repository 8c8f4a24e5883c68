"""Scorecard with its answers, as the page of one evaluation shows it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.ai.scorecard.values import Option, Scorecard
from app.dashboard.views.formatting import number, percent
from app.dashboard.views.quotes import PlayWindow, play_window

NOT_APPLICABLE = "Not applicable"
ANSWER_PREFIX = "answer:"
NOT_APPLICABLE_CHOICE = "not_applicable"
_FULL, _NONE = 0.995, 0.005


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """An answer that a reviewer may choose: the form's value, its text, and when it is right."""

    value: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """One quote, with the part of the sound that contains it."""

    quote: str
    role: str
    segment_id: str
    window: PlayWindow | None


@dataclass(frozen=True, slots=True)
class ShownCriterion:
    """One criterion with its answer.

    Attributes:
        level: `full`, `part`, `none`, or `unjudged` where there is no answer.
        answer: the answer in words.
        points: the points of the maximum, such as `1.99 of 18`.
        original: the judge's answer in words, where a reviewer has replaced it.
        choices: answers that a reviewer may choose; none where the scorecard is not kept.
    """

    key: str
    title: str
    question: str
    level: str
    answer: str
    points: str
    explanation: str | None
    confidence: float | None
    judged_by: str | None
    criticality: str
    suggestion: str | None
    original: str | None
    original_explanation: str | None
    evidence: Sequence[ShownEvidence]
    choices: Sequence[AnswerOption]


@dataclass(frozen=True, slots=True)
class ShownSection:
    """One section with its judged criteria."""

    title: str
    weight: float
    score: float | None
    auto_failed: bool
    criteria: Sequence[ShownCriterion]


@dataclass(frozen=True, slots=True)
class ScoredCard:
    """A scorecard: sections with what was judged, and what was not."""

    sections: Sequence[ShownSection]
    not_judged: Sequence[ShownCriterion]


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """One criterion as it is asked, without an answer."""

    key: str
    title: str
    question: str
    choices: Sequence[AnswerOption]


def open_questions(scorecard: Scorecard) -> list[OpenQuestion]:
    """Return the questions of a scorecard that people can answer."""
    return [
        OpenQuestion(
            criterion.key, criterion.title, criterion.question, _choices(criterion.options)
        )
        for criterion in scorecard.criteria
        if criterion.options
    ]


def scored_card(
    results: Mapping[str, Any],
    transcript: Mapping[str, Any],
    scorecard: Scorecard | None,
    *,
    duration_ms: int | None,
) -> ScoredCard:
    """Return the answers of results by section.

    Args:
        scorecard: the version that was judged with, None where it is not kept any more.
    """
    turns = {segment["id"]: segment for segment in transcript["segments"]}
    criteria = scorecard.criteria if scorecard else ()
    options = {criterion.key: criterion.options for criterion in criteria}
    shown = [
        (
            criterion["section"],
            _criterion(criterion, turns, options.get(criterion["key"], ()), duration_ms),
        )
        for criterion in results["criteria"]
    ]
    sections = []
    for section in results["sections"]:
        judged = [
            criterion
            for key, criterion in shown
            if key == section["key"] and criterion.level != "unjudged"
        ]
        if judged:
            sections.append(
                ShownSection(
                    title=section["title"],
                    weight=section["weight"],
                    score=section["score"],
                    auto_failed=section["autoFailed"],
                    criteria=judged,
                )
            )
    not_judged = [criterion for _, criterion in shown if criterion.level == "unjudged"]
    return ScoredCard(sections, not_judged)


def evidence_of(
    items: Iterable[Mapping[str, Any]],
    turns: Mapping[str, Mapping[str, Any]],
    duration_ms: int | None,
) -> list[ShownEvidence]:
    """Return quotes with the parts of the sound that contain them."""
    return [
        ShownEvidence(
            quote=item["quote"],
            role=item["role"],
            segment_id=item["segmentId"],
            window=play_window(
                turns.get(item["segmentId"]),
                item["charStart"],
                item["charEnd"],
                duration_ms=duration_ms,
            ),
        )
        for item in items
    ]


def answer_text(criterion: Mapping[str, Any]) -> str:
    """Return an answer in words: the option, the measured value, or the share of the points."""
    answer, score = criterion["answer"], criterion["normalizedScore"]
    if isinstance(answer, str):
        return answer.replace("_", " ").capitalize()
    if answer is not None:
        return number(answer, 0 if float(answer).is_integer() else 1)
    return NOT_APPLICABLE if score is None else percent(score)


def _criterion(
    criterion: Mapping[str, Any],
    turns: Mapping[str, Mapping[str, Any]],
    options: Sequence[Option],
    duration_ms: int | None,
) -> ShownCriterion:
    original = criterion["original"]
    top = max((option.answer for option in options if isinstance(option.answer, int)), default=None)
    return ShownCriterion(
        key=criterion["key"],
        title=criterion["title"],
        question=criterion["question"],
        level=_level(criterion["normalizedScore"]),
        answer=_with_top(answer_text(criterion), criterion["answer"], top),
        points=_points(criterion),
        explanation=criterion["explanation"],
        confidence=criterion["confidence"],
        judged_by=criterion["judgedBy"],
        criticality=criterion["criticality"],
        suggestion=criterion["suggestion"],
        original=_with_top(answer_text(original), original["answer"], top) if original else None,
        original_explanation=original["explanation"] if original else None,
        evidence=evidence_of(criterion["evidence"], turns, duration_ms),
        choices=_choices(options),
    )


def _with_top(text: str, answer: Any, top: int | None) -> str:
    """Add the best answer of a scale: `1 of 2`."""
    return text if top is None or answer is None else f"{text} of {top}"


def _choices(options: Sequence[Option]) -> list[AnswerOption]:
    if not options:
        return []
    answers = [
        AnswerOption(
            f"{ANSWER_PREFIX}{option.answer}",
            str(option.answer).replace("_", " ").capitalize(),
            option.anchor,
        )
        for option in options
    ]
    return [*answers, AnswerOption(NOT_APPLICABLE_CHOICE, NOT_APPLICABLE, "")]


def _level(score: float | None) -> str:
    if score is None:
        return "unjudged"
    if score >= _FULL:
        return "full"
    return "none" if score <= _NONE else "part"


def _points(criterion: Mapping[str, Any]) -> str:
    if criterion["points"] is None:
        return ""
    if not criterion["maxPoints"]:
        return "no weight"
    return f"{criterion['points']:g} of {criterion['maxPoints']:g}"
