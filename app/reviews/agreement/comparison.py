"""Agreement of the judge with people, and of people with each other.

docs/reviews.md explains the statistics. Each has its interval, or the reason why it is null.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, permutations
from operator import attrgetter
from typing import Any, TypeAlias

from app.analytics.reports.measures import rounded
from app.core.json_documents import camel_case
from app.evaluations.enums import RESOLUTIONS
from app.reviews.agreement import alpha, two_raters
from app.reviews.agreement.alpha import Units
from app.reviews.agreement.bootstrap import Estimate, estimates
from app.reviews.agreement.two_raters import Pair, Pairs
from app.reviews.ratings import LatestRatings

# Scores at most this far apart count as close.
_CLOSE = 5
# The latest ratings of each evaluation, one entry for each reviewer.
_RatingsByEvaluation = Sequence[Sequence[LatestRatings]]
# With fewer pairs a statistic is mostly chance (docs/reviews.md).
_LEAST_PAIRS = 20
_PLACES = 4
_NO_VARIATION = "All answers of one side are equal, so that agreement cannot be measured."
_BINARY_ONLY = "Only criteria with two answers have it; scales have weightedKappa."
_SCALE_ONLY = "Only criteria with a scale have it; criteria with two answers have kappa."
_TWO_ANSWERS_ONLY = "Only criteria with two answers have it."
_NEVER_GIVEN = "People never gave this answer."
_Cluster: TypeAlias = tuple[Pair, ...]
_PairStatistic: TypeAlias = Callable[[Pairs], float | None]
_UnitStatistic: TypeAlias = Callable[[Units], float | None]


@dataclass(frozen=True, slots=True)
class _RatingPairs:
    """Ratings of one criterion, or of one number, by the judge and by people.

    Attributes:
        clusters: the (engine, human) pairs of one conversation, counted over conversations.
        units: the sorted values that several people gave to one conversation, counted likewise.
        options: the possible values of a criterion, the lowest first.
    """

    clusters: Counter[_Cluster]
    units: Counter[tuple[float, ...]]
    options: Sequence[float]

    @property
    def pairs(self) -> Counter[Pair]:
        return _flattened(self.clusters)

    @property
    def human_pair_count(self) -> int:
        return sum(count * len(unit) * (len(unit) - 1) // 2 for unit, count in self.units.items())


def compare(ratings: Sequence[LatestRatings]) -> dict[str, Any]:
    """Compare the judge's original answers with those of people, over reviewed evaluations.

    Each reviewer of a conversation makes a pair with the judge, and pairs with the other reviewers
    of the same conversation. Intervals are drawn from whole conversations, so that several reviews
    of one do not count as several conversations. A statistic of fewer than 20 pairs is None.
    """
    by_evaluation = [
        list(group)
        for _, group in groupby(
            sorted(ratings, key=attrgetter("evaluation_id")), key=attrgetter("evaluation_id")
        )
    ]
    return {
        "least_pairs": _LEAST_PAIRS,
        "evaluations": len(by_evaluation),
        "reviewers": len({rating.rater for rating in ratings}),
        "criteria": [
            _criterion(key, by_evaluation)
            for key in dict.fromkeys(key for rating in ratings for key in rating.ratings)
        ],
        "score": _number("score", by_evaluation),
        "satisfaction": _number("satisfaction", by_evaluation),
        "resolution": _resolution(by_evaluation),
    }


def _criterion(key: str, by_evaluation: _RatingsByEvaluation) -> dict[str, Any]:
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
        **_category_statistics(_answer_pairs(answers, options), seed=key, is_scale=is_scale),
    }


def _answer_pairs(
    answers: Sequence[Sequence[Mapping[str, Any]]], options: Sequence[float]
) -> _RatingPairs:
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


def _number(name: str, by_evaluation: _RatingsByEvaluation) -> dict[str, Any]:
    conversations = []
    for group in by_evaluation:
        unit = [value for rating in group if (value := getattr(rating, name)) is not None]
        judged = group[0].judged[name]
        cluster = () if judged is None else tuple((judged, value) for value in unit)
        conversations.append((cluster, unit))
    close = {"share_within5": lambda pairs: two_raters.share_within(pairs, _CLOSE)}
    more = close if name == "score" else {}
    return _number_statistics(_rating_pairs(conversations), seed=name, more=more)


def _resolution(by_evaluation: _RatingsByEvaluation) -> dict[str, Any]:
    number_of = {resolution: float(index) for index, resolution in enumerate(RESOLUTIONS)}
    conversations = []
    for group in by_evaluation:
        unit = [number_of[rating.resolution] for rating in group if rating.resolution is not None]
        judged = number_of[group[0].judged["resolution"]]
        conversations.append((tuple((judged, value) for value in unit), unit))
    ratings = _rating_pairs(conversations, list(number_of.values()))
    result = _category_statistics(
        ratings, seed="resolution", is_scale=False, human_alpha=alpha.nominal
    )
    if result["confusion"] is not None:
        result["confusion"]["categories"] = list(RESOLUTIONS)
    return result


def _rating_pairs(
    conversations: Iterable[tuple[_Cluster, Sequence[float]]], options: Sequence[float] = ()
) -> _RatingPairs:
    """Count the pairs of each conversation, and the values that several people gave to it."""
    clusters: Counter[_Cluster] = Counter()
    units: Counter[tuple[float, ...]] = Counter()
    for cluster, unit in conversations:
        if cluster:
            clusters[cluster] += 1
        if len(unit) > 1:
            units[tuple(sorted(unit))] += 1
    return _RatingPairs(clusters, units, options)


def _category_statistics(
    ratings: _RatingPairs, *, seed: str, is_scale: bool, human_alpha: _UnitStatistic = alpha.ordinal
) -> dict[str, Any]:
    """Return the agreement over categories.

    Args:
        is_scale: the categories are ordered, and there are more than yes and no.
        human_alpha: Krippendorff's alpha for such categories.
    """
    kappa, other_kappa = ("weighted_kappa", "kappa") if is_scale else ("kappa", "weighted_kappa")
    kappa_of = two_raters.weighted_kappa if is_scale else two_raters.kappa
    with_engine: dict[str, _PairStatistic] = {
        "percent_agreement": lambda pairs: _percent(two_raters.share_equal(pairs)),
        kappa: kappa_of,
        "mean_f1": two_raters.mean_f1,
        "mean_recall": two_raters.mean_recall,
    }
    between_people: dict[str, _UnitStatistic] = {
        "percent_agreement": lambda units: _percent(two_raters.share_equal(_human_pairs(units))),
        kappa: lambda units: kappa_of(_human_pairs(units)),
        "alpha": human_alpha,
    }
    result = _statistics(ratings, with_engine, between_people, seed=seed)
    result[other_kappa] = result["human_human"][other_kappa] = None
    missing = result["missing"]
    missing.append(_missing(other_kappa, _BINARY_ONLY if is_scale else _SCALE_ONLY))
    too_few = _too_few(result["pairs"])
    _add_answer_rates(result, ratings, is_binary=not is_scale and len(ratings.options) == 2)
    result["confusion"] = None
    if too_few:
        missing.append(_missing("confusion", too_few))
    else:
        result["confusion"] = {
            "categories": list(ratings.options),
            "counts": two_raters.confusion(ratings.pairs, ratings.options),
        }
    return result


def _number_statistics(
    ratings: _RatingPairs, *, seed: str, more: Mapping[str, _PairStatistic]
) -> dict[str, Any]:
    with_engine: dict[str, _PairStatistic] = {
        "mae": two_raters.mean_distance,
        "bias": two_raters.bias,
        **more,
        "pearson": two_raters.pearson,
        "spearman": two_raters.spearman,
    }
    between_people: dict[str, _UnitStatistic] = {
        "mae": lambda units: two_raters.mean_distance(_human_pairs(units)),
        "pearson": lambda units: two_raters.pearson(_human_pairs(units)),
        "spearman": lambda units: two_raters.spearman(_human_pairs(units)),
        "alpha": alpha.interval,
    }
    return _statistics(ratings, with_engine, between_people, seed=seed)


def _add_answer_rates(result: dict[str, Any], ratings: _RatingPairs, *, is_binary: bool) -> None:
    """Add how often the judge gives the answer yes, or no, when people give it."""
    too_few = _too_few(result["pairs"])
    for name, option in (("true_positive_rate", -1), ("true_negative_rate", 0)):
        rate = None
        if is_binary and not too_few:
            rate = two_raters.hit_rate(ratings.pairs, ratings.options[option])
        result[name] = rate and {
            "value": round(rate.value, _PLACES),
            "low": round(rate.low, _PLACES),
            "high": round(rate.high, _PLACES),
            "count": rate.count,
        }
        if rate is None:
            reason = too_few or (_NEVER_GIVEN if is_binary else _TWO_ANSWERS_ONLY)
            result["missing"].append(_missing(name, reason))


def _statistics(
    ratings: _RatingPairs,
    with_engine: Mapping[str, _PairStatistic],
    between_people: Mapping[str, _UnitStatistic],
    *,
    seed: str,
) -> dict[str, Any]:
    pair_count, human_pair_count = ratings.pairs.total(), ratings.human_pair_count
    of_clusters = {name: _over_clusters(statistic) for name, statistic in with_engine.items()}
    values, missing = _estimates(pair_count, ratings.clusters, of_clusters, seed)
    human_values, human_missing = _estimates(
        human_pair_count, ratings.units, between_people, f"people {seed}"
    )
    return {
        "pairs": pair_count,
        **values,
        "missing": missing,
        "human_human": {"pairs": human_pair_count, **human_values, "missing": human_missing},
    }


def _estimates(
    pair_count: int,
    units: Mapping[Any, int],
    statistics: Mapping[str, Callable[[Mapping[Any, int]], float | None]],
    seed: str,
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    too_few = _too_few(pair_count)
    if too_few:
        return dict.fromkeys(statistics), [_missing(name, too_few) for name in statistics]
    values = estimates(units, statistics, seed=seed)
    missing = [_missing(name, _NO_VARIATION) for name, value in values.items() if value is None]
    return {name: value and _rounded(value) for name, value in values.items()}, missing


def _missing(name: str, reason: str) -> dict[str, str]:
    return {"figure": camel_case(name), "reason": reason}


def _too_few(pair_count: int) -> str:
    if pair_count >= _LEAST_PAIRS:
        return ""
    counted = "is 1 pair" if pair_count == 1 else f"are {pair_count} pairs"
    return f"There {counted}; this statistic needs {_LEAST_PAIRS}."


def _rounded(estimate: Estimate) -> dict[str, float | None]:
    return {name: rounded(value, _PLACES) for name, value in asdict(estimate).items()}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _over_clusters(statistic: _PairStatistic) -> Callable[[Mapping[_Cluster, int]], float | None]:
    return lambda clusters: statistic(_flattened(clusters))


def _flattened(clusters: Mapping[_Cluster, int]) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for cluster, count in clusters.items():
        for pair in cluster:
            pairs[pair] += count
    return pairs


def _human_pairs(units: Units) -> Counter[Pair]:
    """Pair the people of each conversation in both orders, since neither is the reference."""
    pairs: Counter[Pair] = Counter()
    for unit, count in units.items():
        for pair in permutations(unit, 2):
            pairs[pair] += count
    return pairs
