"""Statistics of rating pairs: each with its interval, or with the reason why it is null."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import permutations
from typing import Any, TypeAlias

from app.agreement import alpha, two_raters
from app.agreement.alpha import Units
from app.agreement.bootstrap import Estimate, estimates
from app.agreement.two_raters import Pair, Pairs
from app.core.json_documents import camel_case

# With fewer pairs a statistic is mostly chance (docs/reviews.md).
LEAST_PAIRS = 20
_PLACES = 4
_NO_VARIATION = "All answers of one side are equal, so that agreement cannot be measured."
_BINARY_ONLY = "Only criteria with two answers have it; scales have weightedKappa."
_SCALE_ONLY = "Only criteria with a scale have it; criteria with two answers have kappa."
_TWO_ANSWERS_ONLY = "Only criteria with two answers have it."
_NEVER_GIVEN = "People never gave this answer."

Cluster: TypeAlias = tuple[Pair, ...]
PairStatistic: TypeAlias = Callable[[Pairs], float | None]
UnitStatistic: TypeAlias = Callable[[Units], float | None]


@dataclass(frozen=True, slots=True)
class RatingPairs:
    """Ratings of one criterion, or of one number, by the judge and by people.

    Attributes:
        clusters: the (engine, human) pairs of one conversation, counted over conversations.
        units: the sorted values that several people gave to one conversation, counted likewise.
        options: the possible values of a criterion, the lowest first.
    """

    clusters: Counter[Cluster]
    units: Counter[tuple[float, ...]]
    options: Sequence[float] = field(default=())

    @property
    def pairs(self) -> Counter[Pair]:
        """The pairs of the judge and people."""
        return _flattened(self.clusters)

    @property
    def human_pair_count(self) -> int:
        """The number of pairs of people."""
        return sum(count * len(unit) * (len(unit) - 1) // 2 for unit, count in self.units.items())


def category_statistics(
    ratings: RatingPairs, *, seed: str, is_scale: bool, human_alpha: UnitStatistic = alpha.ordinal
) -> dict[str, Any]:
    """Return the agreement over categories.

    Args:
        is_scale: the categories are ordered, and there are more than yes and no.
        human_alpha: Krippendorff's alpha for such categories.
    """
    kappa, other_kappa = ("weighted_kappa", "kappa") if is_scale else ("kappa", "weighted_kappa")
    kappa_of = two_raters.weighted_kappa if is_scale else two_raters.kappa
    with_engine: dict[str, PairStatistic] = {
        "percent_agreement": lambda pairs: _percent(two_raters.share_equal(pairs)),
        kappa: kappa_of,
        "mean_f1": two_raters.mean_f1,
        "mean_recall": two_raters.mean_recall,
    }
    between_people: dict[str, UnitStatistic] = {
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


def number_statistics(
    ratings: RatingPairs, *, seed: str, more: Mapping[str, PairStatistic]
) -> dict[str, Any]:
    """Return the agreement over numbers.

    Args:
        more: further statistics by name.
    """
    with_engine: dict[str, PairStatistic] = {
        "mae": two_raters.mean_distance,
        "bias": two_raters.bias,
        **more,
        "pearson": two_raters.pearson,
        "spearman": two_raters.spearman,
    }
    between_people: dict[str, UnitStatistic] = {
        "mae": lambda units: two_raters.mean_distance(_human_pairs(units)),
        "pearson": lambda units: two_raters.pearson(_human_pairs(units)),
        "spearman": lambda units: two_raters.spearman(_human_pairs(units)),
        "alpha": alpha.interval,
    }
    return _statistics(ratings, with_engine, between_people, seed=seed)


def _add_answer_rates(result: dict[str, Any], ratings: RatingPairs, *, is_binary: bool) -> None:
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
    ratings: RatingPairs,
    with_engine: Mapping[str, PairStatistic],
    between_people: Mapping[str, UnitStatistic],
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
    if pair_count >= LEAST_PAIRS:
        return ""
    counted = "is 1 pair" if pair_count == 1 else f"are {pair_count} pairs"
    return f"There {counted}; this statistic needs {LEAST_PAIRS}."


def _rounded(estimate: Estimate) -> dict[str, float | None]:
    return {
        name: None if value is None else round(value, _PLACES) + 0.0
        for name, value in asdict(estimate).items()
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _over_clusters(statistic: PairStatistic) -> Callable[[Mapping[Cluster, int]], float | None]:
    return lambda clusters: statistic(_flattened(clusters))


def _flattened(clusters: Mapping[Cluster, int]) -> Counter[Pair]:
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
