"""Ratings of a review: checked against scorecard and transcript, and paired with the judge's answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.core.errors import InvalidInput
from app.evaluations.models import Evaluation
from app.judge.dialogue.evidence import Evidence, evidence_at
from app.judge.scorecard.values import Criterion, Scorecard
from app.judge.scoring.answers import Answer
from app.judge.scoring.rescoring import Rescored
from app.reviews.models import Review
from app.transcript import Segment

_NEEDED = "answer or normalizedScore is required if the criterion is applicable."

_COLUMNS = Review.__table__.c

_NOT_GIVEN = (None, None, None)


@dataclass(frozen=True, slots=True)
class Rating:
    """The answer of a reviewer to one criterion; `reason` is the one given for this criterion."""

    key: str
    answer: Answer
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "applicable": self.answer.applicable,
            "answer": self.answer.answer,
            "normalizedScore": self.answer.score,
            "reason": self.reason,
            "evidence": [item.as_json() for item in self.answer.evidence],
        }


@dataclass(slots=True)
class LatestRatings:
    """Ratings of one evaluation by one reviewer, with the judge's values in `judged`.

    `ratings` is that of `models.Review`. The three other values are None if none was given.
    """

    evaluation_id: str
    rater: str
    judged: Mapping[str, Any]
    ratings: dict[str, Any] = field(default_factory=dict)
    score: float | None = None
    resolution: str | None = None
    satisfaction: float | None = None


def ratings_of(
    criteria: Sequence[Mapping[str, Any]],
    *,
    scorecard: Scorecard,
    segments: Mapping[str, Segment],
    reason: str | None,
) -> list[Rating]:
    """Check the ratings of a request.

    Args:
        criteria: the items of `criteria` in the request.
        segments: segments of the transcript by id, in which quotes are looked up.
        reason: that of the review as a whole, for ratings without a reason.

    Raises:
        InvalidInput: a criterion is unknown or repeated, an answer is not one of its options or
            does not match the score, or a quote does not occur in the transcript.
    """
    known = {criterion.key: criterion for criterion in scorecard.criteria}
    ratings: dict[str, Rating] = {}
    for index, rating in enumerate(criteria):
        place, key = f"criteria[{index}]", rating["key"]
        if key not in known:
            raise _invalid(f"{place}.key", "The scorecard has no such criterion.")
        if key in ratings:
            raise _invalid(f"{place}.key", "Each criterion may be rated only once.")
        own_reason = rating.get("reason")
        answer = _answer(rating, known[key], place)
        evidence = tuple(
            _evidence(item, segments, f"{place}.evidence[{number}]")
            for number, item in enumerate(rating.get("evidence", ()))
        )
        ratings[key] = Rating(
            key=key,
            answer=Answer(
                applicable=rating["applicable"],
                explanation=own_reason or reason or "",
                judged_by="human",
                answer=answer[0],
                score=answer[1],
                evidence=evidence,
            ),
            reason=own_reason,
        )
    return list(ratings.values())


def rating_pairs(
    document: Mapping[str, Any],
    ratings: Mapping[str, Rating],
    scored: Rescored | None,
    *,
    scorecard: Scorecard,
    confirms_others: bool,
) -> dict[str, Any]:
    """Map the key of each criterion that the reviewer rated to the pair of answers.

    Args:
        document: the results before this review.
        scored: the results with these ratings, None without any.
        confirms_others: whether the reviewer agrees with every criterion that is not in `ratings`.
    """
    after = {
        criterion["key"]: criterion
        for criterion in (scored.results if scored else document)["criteria"]
    }
    pairs = {}
    for before in document["criteria"]:
        key = before["key"]
        if not confirms_others and key not in ratings:
            continue
        engine = before["original"] or before
        pairs[key] = {
            "title": before["title"],
            "type": before["type"],
            "options": sorted({float(option.score) for option in scorecard.criterion(key).options}),
            "judge": _side(engine),
            "human": _side(after[key]),
        }
    return pairs


def rated_score(
    document: Mapping[str, Any],
    own_score: int | None,
    pairs: Mapping[str, Any],
    scored: Rescored | None,
) -> float | None:
    """Return the reviewer's overall score: their own, or computed if every criterion was rated."""
    if own_score is not None:
        return own_score
    results = scored.results if scored else document
    applicable = {criterion["key"] for criterion in results["criteria"] if criterion["applicable"]}
    if not applicable or not pairs.keys() >= applicable:
        return None
    score: int = results["score"]
    return score


def latest_ratings(
    session: Session, conditions: Iterable[ColumnElement[bool]]
) -> list[LatestRatings]:
    """Return the latest ratings of every reviewer and evaluation, in the order of first reviews."""
    rows = session.execute(
        select(
            _COLUMNS.evaluation_id,
            _COLUMNS.rater,
            _COLUMNS.ratings,
            _COLUMNS.rated_score,
            _COLUMNS.resolution,
            _COLUMNS.satisfaction,
            _COLUMNS.judged,
        )
        .join(Evaluation, Evaluation.id == _COLUMNS.evaluation_id)
        .where(*conditions)
        .order_by(_COLUMNS.created_at, _COLUMNS.id)
    )
    by_rater: dict[tuple[str, str], LatestRatings] = {}
    for row in rows:
        if not row.ratings and (row.rated_score, row.resolution, row.satisfaction) == _NOT_GIVEN:
            continue
        key = (row.evaluation_id, row.rater)
        latest = by_rater.setdefault(key, LatestRatings(*key, judged=row.judged))
        latest.ratings.update(row.ratings)
        if row.rated_score is not None:
            latest.score = row.rated_score
        if row.satisfaction is not None:
            latest.satisfaction = row.satisfaction
        latest.resolution = row.resolution or latest.resolution
    return list(by_rater.values())


def _answer(
    rating: Mapping[str, Any], criterion: Criterion, place: str
) -> tuple[str | int | float | None, float | None]:
    answer, score = rating.get("answer"), rating.get("normalized_score")
    if not rating["applicable"]:
        if answer is not None or score is not None:
            raise _invalid(
                f"{place}.applicable",
                "A criterion that is not applicable must have no answer and no normalizedScore.",
            )
        return None, None
    if answer is None and score is None:
        raise _invalid(f"{place}.answer", _NEEDED, code="REQUIRED")
    for option in criterion.options:
        if answer in (None, option.answer) and score in (None, option.score):
            return option.answer, float(option.score)
    options = {option.answer: option.score for option in criterion.options}
    if answer is None and score is not None:
        # A score between two options has no answer.
        return None, round(score, 4)
    if answer not in options:
        listed = ", ".join(str(option) for option in options)
        raise _invalid(f"{place}.answer", f"answer must be one of {listed}.", code="ENUM")
    raise _invalid(
        f"{place}.normalizedScore", f"normalizedScore of this answer is {options[answer]:g}."
    )


def _evidence(item: Mapping[str, Any], segments: Mapping[str, Segment], place: str) -> Evidence:
    segment = segments.get(item["segment_id"])
    if segment is None:
        raise _invalid(f"{place}.segmentId", "The transcript has no such segment.")
    quote = item["quote"]
    start = item.get("char_start")
    if start is None:
        start = segment.text.find(quote)
    if start < 0 or segment.text[start : start + len(quote)] != quote:
        raise _invalid(
            f"{place}.quote", "The quote must occur in the segment, character for character."
        )
    return evidence_at(segment, start, start + len(quote), item["polarity"])


def _invalid(field: str, message: str, *, code: str = "FORMAT") -> InvalidInput:
    return InvalidInput.field(field, message, code=code)


def _side(criterion: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "applicable": criterion["applicable"],
        "answer": criterion["answer"],
        "score": criterion["normalizedScore"],
    }
