"""Reviewers: how many reviews each has given, how fast, and how strict compared with the judge and with others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from statistics import fmean, median, pstdev
from typing import Any

from sqlalchemy import not_, select
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection, completed_evaluations
from app.analytics.reports.means import MeasuredMean
from app.evaluations.enums import ReviewAction
from app.evaluations.models import Evaluation
from app.reviews import rounds
from app.reviews.models import Review
from app.reviews.ratings import LatestRatings, latest_ratings

_GIVEN = (ReviewAction.CONFIRM, ReviewAction.OVERRIDE, ReviewAction.COMMENT)


def figures(session: Session, selection: Selection) -> list[dict[str, Any]]:
    """Return the figures of each reviewer of a selection, who has given most first.

    Ratings of open calibration rounds do not count yet.
    """
    sealed = [not_(rounds.reviews_in(row)) for row in rounds.open_rounds(session)]
    conditions = [*completed_evaluations(selection), *sealed]
    counts, seconds = _counts_and_times(session, conditions)
    by_rater: defaultdict[str, list[LatestRatings]] = defaultdict(list)
    scores: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for rating in latest_ratings(session, conditions):
        by_rater[rating.rater].append(rating)
        if rating.score is not None:
            scores[rating.evaluation_id][rating.rater] = rating.score
    found = [
        {
            "reviewer": rater,
            "count": count,
            "median_seconds": median(seconds[rater]) if seconds[rater] else None,
            "from_judge": _difference(
                [
                    rating.score - rating.judged["score"]
                    for rating in by_rater[rater]
                    if rating.score is not None
                ]
            ),
            "from_others": _difference(_from_others(rater, scores.values())),
            **_agreement(by_rater[rater]),
        }
        for rater, count in counts.items()
    ]
    return sorted(found, key=lambda row: (-row["count"], row["reviewer"]))


def _counts_and_times(
    session: Session, conditions: Sequence[Any]
) -> tuple[dict[str, int], defaultdict[str, list[float]]]:
    """Count reviews, and return the seconds from the start of each to its end, where it was started."""
    rows = session.execute(
        select(Review.rater, Review.evaluation_id, Review.action, Review.created_at)
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .where(*conditions)
        .order_by(Review.created_at, Review.id)
    )
    counts: dict[str, int] = {}
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    started: dict[tuple[str, str], datetime] = {}
    for row in rows:
        key = (row.rater, row.evaluation_id)
        if row.action == ReviewAction.START:
            started[key] = row.created_at
        elif row.action in _GIVEN:
            counts[row.rater] = counts.get(row.rater, 0) + 1
            if key in started:
                seconds[row.rater].append((row.created_at - started.pop(key)).total_seconds())
    return counts, seconds


def _from_others(rater: str, scores: Iterable[Mapping[str, float]]) -> list[float]:
    """Return the differences from the mean of the others, where others have rated the same."""
    return [
        by_rater[rater] - fmean(score for other, score in by_rater.items() if other != rater)
        for by_rater in scores
        if rater in by_rater and len(by_rater) > 1
    ]


def _difference(values: Sequence[float]) -> dict[str, Any] | None:
    if not values:
        return None
    mean = MeasuredMean(fmean(values), pstdev(values), len(values))
    half = mean.half_width
    is_known = isfinite(half)
    return {
        "mean": round(mean.mean, 2),
        "low": round(mean.mean - half, 2) if is_known else None,
        "high": round(mean.mean + half, 2) if is_known else None,
        "count": mean.count,
    }


def _agreement(ratings: Iterable[LatestRatings]) -> dict[str, Any]:
    """Return the share of answers that are those of the judge."""
    same = [
        (pair["human"]["applicable"], pair["human"]["score"])
        == (pair["judge"]["applicable"], pair["judge"]["score"])
        for rating in ratings
        for pair in rating.ratings.values()
    ]
    return {"agreement": round(fmean(same), 4) if same else None, "answer_count": len(same)}
