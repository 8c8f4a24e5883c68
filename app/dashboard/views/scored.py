"""Scorecard with its answers, and the answers that differ between two revisions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.dashboard.views.conversation import PlayWindow, play_window
from app.dashboard.views.formatting import number, percent, waiting_time
from app.judge.scorecard.values import Criterion, Option, Scorecard

NOT_APPLICABLE = "Not applicable"
ANSWER_PREFIX = "answer:"
NOT_APPLICABLE_CHOICE = "not_applicable"
_NOT_A_CRITERION = "Not in this scorecard"
_ANSWER = ("applicable", "answer", "normalizedScore")
_FULL, _NONE = 0.995, 0.005
_UNSURE = 0.5


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """An answer that a reviewer may choose: the form's value, its text, and when it is right."""

    value: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One criterion whose answer differs; `judged_by` says who gave the later one."""

    title: str
    before: str
    after: str
    judged_by: str | None


@dataclass(frozen=True, slots=True)
class PlayableQuote:
    """An item of evidence, and the part of the sound that contains it, if there is any."""

    item: Mapping[str, Any]
    window: PlayWindow | None


@dataclass(frozen=True, slots=True)
class ScoredCriterion:
    """A criterion of the results with what the page adds to it.

    Attributes:
        level: `full`, `part`, `none`, or `unjudged` where there is no answer.
        answer_text: the answer in words.
        original_text: the judge's answer in words, where a review has replaced it.
        choices: the answers that a reviewer may choose, none where the scorecard is not kept.
    """

    result: Mapping[str, Any]
    level: str
    answer_text: str
    original_text: str | None
    points_text: str
    quotes: list[PlayableQuote]
    choices: list[AnswerOption]

    @property
    def needs_attention(self) -> bool:
        """Return whether it failed or the judge is unsure of it, and that matters to the score."""
        if self.level == "unjudged" or not self.result["maxPoints"]:
            return False
        confidence = self.result["confidence"]
        return self.level == "none" or (confidence is not None and confidence <= _UNSURE)


def open_questions(scorecard: Scorecard) -> list[tuple[Criterion, list[AnswerOption]]]:
    """Return the criteria that people can answer, each with its answers."""
    return [
        (criterion, _choices(criterion.options))
        for criterion in scorecard.criteria
        if criterion.options
    ]


def scored_sections(
    results: Mapping[str, Any],
    turns: Mapping[str, Mapping[str, Any]],
    scorecard: Scorecard | None,
    *,
    duration_ms: int | None,
) -> tuple[list[tuple[Mapping[str, Any], list[ScoredCriterion]]], list[ScoredCriterion]]:
    """Return the sections of results with what was judged in each, and what was not judged.

    Args:
        turns: the segments of the transcript by id.
        scorecard: the version that was judged with, None where it is not kept any more.
    """
    asked = {criterion.key: criterion for criterion in scorecard.criteria} if scorecard else {}
    criteria = [
        _criterion(criterion, turns, asked.get(criterion["key"]), duration_ms)
        for criterion in results["criteria"]
    ]
    judged = [criterion for criterion in criteria if criterion.level != "unjudged"]
    sections = [
        (section, own)
        for section in results["sections"]
        if (own := [item for item in judged if item.result["section"] == section["key"]])
    ]
    return sections, [criterion for criterion in criteria if criterion.level == "unjudged"]


def is_estimated(results: Mapping[str, Any]) -> bool:
    """Return whether a score has more estimated than judged points, and no critical failure decides it."""
    criteria, failed = results["criteria"], results["autoFail"]
    judged: float = sum(one["maxPoints"] for one in criteria if one["points"] is not None)
    estimated = sum(one["maxPoints"] for one in criteria if one.get("estimate") is not None)
    return bool(estimated > judged and not (failed and failed["triggered"]))


def quotes_of(
    items: Iterable[Mapping[str, Any]],
    turns: Mapping[str, Mapping[str, Any]],
    duration_ms: int | None,
) -> list[PlayableQuote]:
    """Return items of evidence with the part of the sound that contains each."""
    return [
        PlayableQuote(
            item,
            play_window(
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
    if score is None:
        estimate = criterion.get("estimate")
        return NOT_APPLICABLE if estimate is None else f"Estimated at {percent(estimate)}"
    return percent(score)


def changes_between(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[AnswerChange]:
    """Return the criteria whose answers differ, in the order of the later scorecard.

    Criteria that only the earlier scorecard has come last.
    """
    former = {criterion["key"]: criterion for criterion in before}
    changes = []
    for criterion in after:
        earlier = former.pop(criterion["key"], None)
        if earlier is None or any(earlier[name] != criterion[name] for name in _ANSWER):
            was = answer_text(earlier) if earlier else _NOT_A_CRITERION
            changes.append(
                AnswerChange(criterion["title"], was, answer_text(criterion), criterion["judgedBy"])
            )
    dropped = (
        AnswerChange(criterion["title"], answer_text(criterion), _NOT_A_CRITERION, None)
        for criterion in former.values()
    )
    return [*changes, *dropped]


def _criterion(
    criterion: Mapping[str, Any],
    turns: Mapping[str, Mapping[str, Any]],
    asked: Criterion | None,
    duration_ms: int | None,
) -> ScoredCriterion:
    original = criterion["original"]
    return ScoredCriterion(
        criterion,
        level=_level(criterion["normalizedScore"]),
        answer_text=_answer_to(asked, criterion),
        original_text=original and _answer_to(asked, original),
        points_text=_points(criterion),
        quotes=quotes_of(criterion["evidence"], turns, duration_ms),
        choices=_choices(asked.options if asked else ()),
    )


def _answer_to(asked: Criterion | None, answered: Mapping[str, Any]) -> str:
    """Return an answer in words, with the unit of a time, or the best answer of its scale."""
    text, answer = answer_text(answered), answered["answer"]
    if asked is None or answer is None or isinstance(answer, str):
        return text
    if "fullMs" in asked.parameters:
        return f"{number(answer / 1000, 1)} s"
    if {"fullSeconds", "firstResponseSeconds"} & {
        *asked.parameters,
        asked.parameters.get("metric"),
    }:
        return waiting_time(answer)
    best = max(
        (option.answer for option in asked.options if isinstance(option.answer, int)), default=None
    )
    return text if best is None else f"{text} of {best}"


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
