"""Report on the agreement of the judge with people, and of people with each other.

docs/reviews.md explains the statistics.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import not_
from sqlalchemy.orm import Session

from app.agreement import alpha, two_raters
from app.analytics.agreement.rating_statistics import (
    LEAST_PAIRS,
    Cluster,
    RatingPairs,
    category_statistics,
    number_statistics,
)
from app.analytics.engine.selection import Selection, completed_evaluations
from app.evaluations.enums import RESOLUTIONS
from app.reviews.rounds import LatestRatings, latest_ratings, open_rounds, reviews_in

# Scores at most this far apart count as close.
CLOSE = 5

# The latest ratings of each evaluation, one entry for each reviewer.
RatingsByEvaluation = Sequence[Sequence[LatestRatings]]


def show(session: Session, selection: Selection) -> dict[str, Any]:
    """Compare the judge's original answers with those of people, over reviewed evaluations.

    Each reviewer of a conversation makes a pair with the judge, and pairs with the other reviewers
    of the same conversation. Intervals are drawn from whole conversations, so that several reviews
    of one do not count as several conversations. A statistic of fewer than 20 pairs is None.
    Ratings of open calibration rounds do not count yet.
    """
    sealed = [not_(reviews_in(row)) for row in open_rounds(session)]
    ratings = latest_ratings(session, [*completed_evaluations(selection), *sealed])
    return {"period": selection.period.shown(), **compare(ratings)}


def compare(ratings: Sequence[LatestRatings]) -> dict[str, Any]:
    """Return the statistics of `show` for these ratings."""
    by_evaluation = [
        list(group)
        for _, group in groupby(
            sorted(ratings, key=attrgetter("evaluation_id")), key=attrgetter("evaluation_id")
        )
    ]
    return {
        "least_pairs": LEAST_PAIRS,
        "evaluations": len(by_evaluation),
        "reviewers": len({rating.rater for rating in ratings}),
        "criteria": [_criterion(key, by_evaluation) for key in _criterion_keys(ratings)],
        "score": _number("score", by_evaluation),
        "satisfaction": _number("satisfaction", by_evaluation),
        "resolution": _resolution(by_evaluation),
    }


def _criterion_keys(ratings: Iterable[LatestRatings]) -> list[str]:
    return list(dict.fromkeys(key for rating in ratings for key in rating.ratings))


def _criterion(key: str, by_evaluation: RatingsByEvaluation) -> dict[str, Any]:
    answers = [
        [rating.ratings[key] for rating in group if key in rating.ratings]
        for group in by_evaluation
    ]
    newest = next(group[-1] for group in reversed(answers) if group)
    options = newest["options"] or [0.0, 1.0]
    applicability = Counter(_applicability(answer) for group in answers for answer in group)
    is_scale = newest["type"] != "binary" or len(options) > 2
    return {
        "key": key,
        "title": newest["title"],
        "type": newest["type"],
        "applicability": {
            "both": applicability[True, True],
            "judge_only": applicability[True, False],
            "human_only": applicability[False, True],
            "neither": applicability[False, False],
        },
        **category_statistics(_answer_pairs(answers, options), seed=key, is_scale=is_scale),
    }


def _answer_pairs(
    answers: Sequence[Sequence[Mapping[str, Any]]], options: Sequence[float]
) -> RatingPairs:
    """Pair the answers to one criterion, where both sides consider it applicable."""
    conversations = []
    for group in answers:
        cluster = tuple(
            (
                _nearest(options, answer["judge"]["score"]),
                _nearest(options, answer["human"]["score"]),
            )
            for answer in group
            if all(_applicability(answer))
        )
        unit = [
            _nearest(options, answer["human"]["score"])
            for answer in group
            if answer["human"]["applicable"]
        ]
        conversations.append((cluster, unit))
    return _rating_pairs(conversations, options)


def _applicability(answer: Mapping[str, Any]) -> tuple[bool, bool]:
    return answer["judge"]["applicable"], answer["human"]["applicable"]


def _nearest(options: Sequence[float], score: float) -> float:
    """Return the option nearest to a score, the upper one of two."""
    return min(options, key=lambda option: (abs(option - score), -option))


def _number(name: str, by_evaluation: RatingsByEvaluation) -> dict[str, Any]:
    conversations = []
    for group in by_evaluation:
        unit = [value for rating in group if (value := getattr(rating, name)) is not None]
        judged = group[0].judged[name]
        cluster = () if judged is None else tuple((judged, value) for value in unit)
        conversations.append((cluster, unit))
    close = {"share_within5": lambda pairs: two_raters.share_within(pairs, CLOSE)}
    more = close if name == "score" else {}
    return number_statistics(_rating_pairs(conversations), seed=name, more=more)


def _resolution(by_evaluation: RatingsByEvaluation) -> dict[str, Any]:
    number_of = {resolution: float(index) for index, resolution in enumerate(RESOLUTIONS)}
    conversations = []
    for group in by_evaluation:
        unit = [number_of[rating.resolution] for rating in group if rating.resolution is not None]
        judged = number_of[group[0].judged["resolution"]]
        conversations.append((tuple((judged, value) for value in unit), unit))
    ratings = _rating_pairs(conversations, list(number_of.values()))
    result = category_statistics(
        ratings, seed="resolution", is_scale=False, human_alpha=alpha.nominal
    )
    if result["confusion"] is not None:
        result["confusion"]["categories"] = list(RESOLUTIONS)
    return result


def _rating_pairs(
    conversations: Iterable[tuple[Cluster, Sequence[float]]], options: Sequence[float] = ()
) -> RatingPairs:
    """Count the pairs of each conversation, and the values that several people gave to it."""
    clusters: Counter[Cluster] = Counter()
    units: Counter[tuple[float, ...]] = Counter()
    for cluster, unit in conversations:
        if cluster:
            clusters[cluster] += 1
        if len(unit) > 1:
            units[tuple(sorted(unit))] += 1
    return RatingPairs(clusters, units, options)
