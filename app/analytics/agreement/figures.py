"""The figures of agreement: each with its interval, or with the reason why there is none."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import permutations
from typing import Any, TypeAlias

from app.agreement import alpha, categories, scores
from app.agreement.alpha import Units
from app.agreement.bootstrap import Estimate, estimates
from app.agreement.categories import Pair, Pairs

# Below this a figure says more of chance than of the judge (docs/reviews.md).
LEAST_PAIRS = 20
_PLACES = 4
_SAME = "One side always says the same, so there is nothing to compare."
_NOT_YES_NO = "Only criteria with two answers have it; weightedKappa tells it of scales."
_NOT_SCALE = "Only criteria with a scale have it; kappa tells it of two answers."

Cluster: TypeAlias = tuple[Pair, ...]
OfPairs: TypeAlias = Callable[[Pairs], float | None]
OfUnits: TypeAlias = Callable[[Units], float | None]


@dataclass(frozen=True, slots=True)
class Rated:
    """`clusters` are the (judge, human) pairs of one conversation, counted over conversations.

    `units` are the values that several people gave to one conversation, in their order, counted
    likewise; `options` are the categories that there are.
    """

    clusters: Counter[Cluster]
    units: Counter[tuple[float, ...]]
    options: Sequence[float] = field(default=())

    @property
    def pairs(self) -> Counter[Pair]:
        """The pairs of the judge and people."""
        return _flat(self.clusters)

    @property
    def human_pairs(self) -> int:
        """How many pairs of people there are."""
        return sum(count * len(unit) * (len(unit) - 1) // 2 for unit, count in self.units.items())


def of_categories(
    rated: Rated, *, seed: str, of_scale: bool, level: OfUnits = alpha.ordinal
) -> dict[str, Any]:
    """Tell the agreement over categories.

    Args:
        of_scale: the categories have an order and there are more than yes and no.
        level: Krippendorff's alpha for such categories.
    """
    kappa, other = ("weighted_kappa", "kappa") if of_scale else ("kappa", "weighted_kappa")
    measure = categories.weighted_kappa if of_scale else categories.kappa
    machine: dict[str, OfPairs] = {
        "percent_agreement": lambda pairs: _percent(categories.share_equal(pairs)),
        kappa: measure,
        "mean_f1": categories.mean_f1,
        "mean_recall": categories.mean_recall,
    }
    people: dict[str, OfUnits] = {
        "percent_agreement": lambda units: _percent(categories.share_equal(_both_ways(units))),
        kappa: lambda units: measure(_both_ways(units)),
        "alpha": level,
    }
    found = _told(rated, machine, people, seed=seed)
    nothing = {other: None}
    reason = [_lacking(other, _NOT_YES_NO if of_scale else _NOT_SCALE)]
    found |= nothing | {"missing": found["missing"] + reason}
    found["human_human"] |= nothing
    enough = found["pairs"] >= LEAST_PAIRS
    yes_no = not of_scale and len(rated.options) == 2
    pairs = rated.pairs
    for name, option in (("true_positive_rate", -1), ("true_negative_rate", 0)):
        rate = categories.hit_rate(pairs, rated.options[option]) if enough and yes_no else None
        found[name] = rate and {
            "value": round(rate.value, _PLACES),
            "low": round(rate.low, _PLACES),
            "high": round(rate.high, _PLACES),
            "count": rate.count,
        }
        if rate is None:
            why = "People never say so." if yes_no else "Only criteria with two answers have it."
            found["missing"].append(_lacking(name, _too_few(found["pairs"]) or why))
    table = {
        "categories": list(rated.options),
        "counts": categories.confusion(pairs, rated.options),
    }
    found["confusion"] = table if enough else None
    if not enough:
        found["missing"].append(_lacking("confusion", _too_few(found["pairs"])))
    return found


def of_numbers(rated: Rated, *, seed: str, more: Mapping[str, OfPairs]) -> dict[str, Any]:
    """Tell the agreement over numbers.

    Args:
        more: further figures by name.
    """
    machine: dict[str, OfPairs] = {
        "mae": scores.mean_distance,
        "bias": scores.bias,
        **more,
        "pearson": scores.pearson,
        "spearman": scores.spearman,
    }
    people: dict[str, OfUnits] = {
        "mae": lambda units: scores.mean_distance(_both_ways(units)),
        "pearson": lambda units: scores.pearson(_both_ways(units)),
        "spearman": lambda units: scores.spearman(_both_ways(units)),
        "alpha": alpha.interval,
    }
    return _told(rated, machine, people, seed=seed)


def _told(
    rated: Rated, machine: Mapping[str, OfPairs], people: Mapping[str, OfUnits], *, seed: str
) -> dict[str, Any]:
    number = rated.pairs.total()
    of_clusters = {name: _of_clusters(measure) for name, measure in machine.items()}
    told, missing = _figures(number, rated.clusters, of_clusters, seed)
    among, lacking = _figures(rated.human_pairs, rated.units, people, f"people {seed}")
    return {
        "pairs": number,
        **told,
        "missing": missing,
        "human_human": {"pairs": rated.human_pairs, **among, "missing": lacking},
    }


def _figures(
    number: int,
    units: Mapping[Any, int],
    measures: Mapping[str, Callable[[Mapping[Any, int]], float | None]],
    seed: str,
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    few = _too_few(number)
    if few:
        return dict.fromkeys(measures), [_lacking(name, few) for name in measures]
    found = estimates(units, measures, seed=seed)
    missing = [_lacking(name, _SAME) for name, each in found.items() if each is None]
    return {name: each and _rounded(each) for name, each in found.items()}, missing


def _lacking(figure: str, reason: str) -> dict[str, str]:
    first, *rest = figure.split("_")
    return {"figure": first + "".join(word.capitalize() for word in rest), "reason": reason}


def _too_few(number: int) -> str:
    if number >= LEAST_PAIRS:
        return ""
    counted = "1 pair" if number == 1 else f"{number} pairs"
    return f"There are {counted}; a figure needs {LEAST_PAIRS}."


def _rounded(found: Estimate) -> dict[str, float | None]:
    return {
        name: None if value is None else round(value, _PLACES) + 0.0
        for name, value in asdict(found).items()
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _of_clusters(measure: OfPairs) -> Callable[[Mapping[Cluster, int]], float | None]:
    return lambda clusters: measure(_flat(clusters))


def _flat(clusters: Mapping[Cluster, int]) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for cluster, count in clusters.items():
        for pair in cluster:
            pairs[pair] += count
    return pairs


def _both_ways(units: Units) -> Counter[Pair]:
    """Pair the people of each conversation in both orders: none of them is the measure."""
    pairs: Counter[Pair] = Counter()
    for unit, count in units.items():
        for one, other in permutations(unit, 2):
            pairs[one, other] += count
    return pairs
