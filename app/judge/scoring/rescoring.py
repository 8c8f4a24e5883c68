"""Rescoring: results with some answers replaced by those of people."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.json_documents import from_api_names
from app.judge.dialogue.evidence import CONTRADICTS, Evidence
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.answers import Answer
from app.judge.scoring.documents import (
    coaching_of,
    criterion_document,
    score_document,
    section_document,
)
from app.judge.scoring.score import Problem, score_of

# Rules about what the service side should never say, which incidents tell as well.
_OF_CONDUCT = frozenset(["conduct", "courtesy", "respect", "third_party"])
_ORIGINAL = ("applicable", "answer", "normalizedScore", "judgedBy", "explanation", "confidence")


@dataclass(frozen=True, slots=True)
class Rescored:
    """The results document with its new score, and which criteria are failed now."""

    results: dict[str, Any]
    failed_criteria: tuple[str, ...]


class Unscorable(ValueError):
    """With these answers there would be no score; the message is for people."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)


def rescored(
    results: Mapping[str, Any], scorecard: Scorecard, answers: Mapping[str, Answer]
) -> Rescored:
    """Return a results document with some answers replaced.

    Everything that follows from answers is computed again: points, sections, score, compliance
    score, band, pass, auto-fail and coaching; what people found right is no incident. What a calibration had made of the score falls away.
    Each replaced answer keeps the judge's own one in `original`. Measures, sentiment, dimensions,
    moments and summary are not answers and stay.

    Args:
        results: results of the same scorecard version.

    Raises:
        Unscorable: too little would be left to score.
    """
    former = {criterion["key"]: criterion for criterion in results["criteria"]}
    all_answers = {key: _stored_answer(criterion) for key, criterion in former.items()} | dict(
        answers
    )
    score = score_of(scorecard, all_answers)
    if score.problem is not None:
        raise Unscorable(score.problem)
    document = {
        **results,
        **score_document(score, scorecard),
        "sections": [section_document(section) for section in score.sections],
        "criteria": [
            {
                **_otherwise(former[judged.criterion.key]),
                **criterion_document(judged),
                "original": _judged_first(
                    former[judged.criterion.key], judged.criterion.key in answers
                ),
            }
            for judged in score.judged
        ],
        "coaching": coaching_of(score, _stored_incidents(results, scorecard, answers)),
        "quality": {**results["quality"], "calibration": None},
    }
    return Rescored(document, score.failed_criteria)


def _otherwise(former: Mapping[str, Any]) -> dict[str, Any]:
    return {"otherwise": former["otherwise"]} if "otherwise" in former else {}


def _stored_incidents(
    results: Mapping[str, Any], scorecard: Scorecard, answers: Mapping[str, Answer]
) -> list[dict[str, Any]]:
    improvements = results["coaching"]["improvements"]
    refuted = {
        piece["segmentId"]
        for criterion in results["criteria"]
        if (answer := answers.get(criterion["key"])) is not None
        and answer.score in (None, 1)
        and not answer.unjudged
        and scorecard.criterion(criterion["key"]).rule in _OF_CONDUCT
        for piece in criterion["evidence"]
        if piece["polarity"] == CONTRADICTS
    }
    return [
        entry
        for entry in improvements
        if entry["criterionKey"] is None
        and refuted.isdisjoint(piece["segmentId"] for piece in entry["evidence"])
    ]


def _judged_first(former: Mapping[str, Any], replaced: bool) -> dict[str, Any] | None:
    original: dict[str, Any] | None = former["original"]
    if original is not None or not replaced:
        return original
    return {name: former[name] for name in _ORIGINAL}


def _stored_answer(document: Mapping[str, Any]) -> Answer:
    return Answer(
        applicable=document["applicable"],
        explanation=document["explanation"],
        judged_by=document["judgedBy"],
        answer=document["answer"],
        score=document["normalizedScore"],
        estimate=document.get("estimate"),
        confidence=document["confidence"],
        failure=document["failure"],
        # Documents from before the flag counted all that has no answer as not judged.
        unjudged=document.get(
            "notJudged", not document["applicable"] and document["failure"] is None
        ),
        advice=document["suggestion"],
        evidence=tuple(Evidence(**from_api_names(item, Evidence)) for item in document["evidence"]),
    )
