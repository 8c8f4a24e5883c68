"""Agreement of the judge with people, and of people with each other (docs/reviews.md)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.agreement import alpha, scores
from app.analytics.agreement import figures
from app.analytics.agreement.figures import Cluster, Rated
from app.analytics.engine.selection import Selection
from app.evaluations.enums import RESOLUTIONS, Status
from app.evaluations.models import Evaluation
from app.reviews.latest_ratings import LatestRatings, latest_ratings

# Two scores that differ by no more than this are taken to be the same verdict.
CLOSE = 5


def show(session: Session, selection: Selection) -> dict[str, Any]:
    """Compare the engine's own answers with those of people, over reviewed current evaluations.

    Every reviewer of a conversation makes a pair with the engine; reviewers of the same one make
    pairs with each other. Conversations are what intervals are drawn from, so that several reviews
    of one don't pass for several conversations. A figure with under 20 pairs is None.
    """
    opinions = latest_ratings(session, _conditions(selection))
    by_evaluation = [
        list(group)
        for _, group in groupby(
            sorted(opinions, key=lambda each: each.evaluation_id),
            key=lambda each: each.evaluation_id,
        )
    ]
    return {
        "period": selection.period.shown(),
        "least_pairs": figures.LEAST_PAIRS,
        "evaluations": len(by_evaluation),
        "reviewers": len({each.rater for each in opinions}),
        "criteria": [_criterion(key, by_evaluation) for key in _keys(opinions)],
        "score": _numbers("score", by_evaluation),
        "satisfaction": _numbers("satisfaction", by_evaluation),
        "resolution": _resolution(by_evaluation),
    }


def _conditions(selection: Selection) -> list[ColumnElement[bool]]:
    wanted = [getattr(Evaluation, name) == key for name, key in selection.ids().items()]
    if selection.channel:
        wanted.append(Evaluation.channel.in_(selection.channel))
    return [
        Evaluation.created_at >= selection.period.start,
        Evaluation.created_at < selection.period.end,
        Evaluation.is_current.is_not(False),
        Evaluation.status == Status.COMPLETED,
        *wanted,
    ]


def _keys(opinions: Iterable[LatestRatings]) -> list[str]:
    return list(dict.fromkeys(key for each in opinions for key in each.ratings))


def _criterion(key: str, by_evaluation: Sequence[Sequence[LatestRatings]]) -> dict[str, Any]:
    told = [[each.ratings[key] for each in group if key in each.ratings] for group in by_evaluation]
    newest = next(ratings[-1] for ratings in reversed(told) if ratings)
    options = newest["options"] or [0.0, 1.0]
    clusters: Counter[Cluster] = Counter()
    units: Counter[tuple[float, ...]] = Counter()
    applicable: Counter[tuple[bool, bool]] = Counter()
    for ratings in told:
        applicable.update(_applicable(each) for each in ratings)
        both = tuple(
            (_nearest(options, each["judge"]["score"]), _nearest(options, each["human"]["score"]))
            for each in ratings
            if all(_applicable(each))
        )
        people = tuple(
            sorted(
                _nearest(options, each["human"]["score"])
                for each in ratings
                if each["human"]["applicable"]
            )
        )
        clusters.update([both] if both else [])
        units.update([people] if len(people) > 1 else [])
    rated = Rated(clusters, units, options)
    of_scale = newest["type"] != "binary" or len(options) > 2
    return {
        "key": key,
        "title": newest["title"],
        "type": newest["type"],
        "applicability": {
            "both": applicable[True, True],
            "judge_only": applicable[True, False],
            "human_only": applicable[False, True],
            "neither": applicable[False, False],
        },
        **figures.of_categories(rated, seed=key, of_scale=of_scale),
    }


def _applicable(rating: Mapping[str, Any]) -> tuple[bool, bool]:
    return rating["judge"]["applicable"], rating["human"]["applicable"]


def _nearest(options: Sequence[float], score: float) -> float:
    """Bring a score between two options to the nearer one, the upper one in the middle."""
    return min(options, key=lambda option: (abs(option - score), -option))


def _numbers(name: str, by_evaluation: Sequence[Sequence[LatestRatings]]) -> dict[str, Any]:
    clusters: Counter[Cluster] = Counter()
    units: Counter[tuple[float, ...]] = Counter()
    for group in by_evaluation:
        given = [value for each in group if (value := getattr(each, name)) is not None]
        judge = group[0].judged[name]
        if given and judge is not None:
            clusters[tuple((judge, value) for value in given)] += 1
        if len(given) > 1:
            units[tuple(sorted(given))] += 1
    close = {"share_within5": lambda pairs: scores.share_within(pairs, CLOSE)}
    return figures.of_numbers(
        Rated(clusters, units), seed=name, more=close if name == "score" else {}
    )


def _resolution(by_evaluation: Sequence[Sequence[LatestRatings]]) -> dict[str, Any]:
    place = {word: float(index) for index, word in enumerate(RESOLUTIONS)}
    clusters: Counter[Cluster] = Counter()
    units: Counter[tuple[float, ...]] = Counter()
    for group in by_evaluation:
        given = [place[each.resolution] for each in group if each.resolution is not None]
        if given:
            clusters[tuple((place[group[0].judged["resolution"]], value) for value in given)] += 1
        if len(given) > 1:
            units[tuple(sorted(given))] += 1
    rated = Rated(clusters, units, list(place.values()))
    found = figures.of_categories(rated, seed="resolution", of_scale=False, level=alpha.nominal)
    if found["confusion"] is not None:
        found["confusion"]["categories"] = list(RESOLUTIONS)
    return found
