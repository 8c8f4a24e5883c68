"""Learning from people's scores: how strongly to shrink, what the map is, and what is gained."""

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.agreement import scores
from app.agreement.bootstrap import Estimate, estimates
from app.agreement.categories import Pairs
from app.ai.insights.signals import SCORE
from app.calibration.isotonic import Rising, rising
from app.calibration.ridge import Fitting, Linear, Signals

LEAST_LABELS = 30
_STRENGTHS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
_FOLDS, _INNER_FOLDS = 5, 4
# Of two strengths that differ by less than half a standard error the stronger one is kept.
_TOLERANCE = 0.5

Unit = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation: the judge's signals, and the score that people gave it, 0 to 100."""

    signals: Signals
    label: float


@dataclass(frozen=True, slots=True)
class Model:
    """From a judgement's signals to the score that people would give."""

    linear: Linear
    rising: Rising

    def score(self, signals: Signals) -> float:
        """Return the score that is expected of people, 0 to 100."""
        return min(100.0, max(0.0, self.rising.value(self.linear.value(signals))))

    def as_json(self) -> dict[str, Any]:
        """Return the model as it is kept."""
        return {
            "bias": self.linear.bias,
            "columns": [list(column) for column in self.linear.columns],
            "knots": [list(knot) for knot in self.rising.knots],
        }


@dataclass(frozen=True, slots=True)
class Gain:
    """Agreement with the labels before and after, each conversation scored by a model without it."""

    before: dict[str, Estimate | None]
    after: dict[str, Estimate | None]
    change: dict[str, Estimate | None]


def model_from(kept: dict[str, Any]) -> Model:
    """Read a model as it was kept."""
    columns = tuple((name, mean, scale, weight) for name, mean, scale, weight in kept["columns"])
    return Model(
        Linear(kept["bias"], columns), Rising(tuple((start, end) for start, end in kept["knots"]))
    )


def fit(samples: Sequence[Sample], *, folds: int = _FOLDS) -> Model:
    """Fit a model; the same samples in the same order give the same one.

    Raises:
        ValueError: fewer than two samples.
    """
    signals = [each.signals for each in samples]
    labels = [each.label for each in samples]
    parts = _parts(len(samples), folds)
    fittings = [
        (Fitting(_left_out(signals, part), _left_out(labels, part)), part) for part in parts
    ]
    tried = {strength: _expected(fittings, signals, strength) for strength in _STRENGTHS}
    strength = _chosen(tried, labels)
    return Model(
        Fitting(signals, labels).solved(strength),
        # On what is expected of conversations that were left out, or the map would be too steep.
        rising(zip(tried[strength], labels, strict=True)),
    )


def cross_validated(samples: Sequence[Sample]) -> Gain:
    """Measure what calibrating gains on conversations that took no part in it."""
    after = [0.0] * len(samples)
    for part in _parts(len(samples), _FOLDS):
        model = fit(_left_out(samples, part), folds=_INNER_FOLDS)
        for place in part:
            after[place] = model.score(samples[place].signals)
    units = Counter(
        (each.signals[SCORE], found, each.label) for each, found in zip(samples, after, strict=True)
    )
    return Gain(
        before=_figures(units, lambda unit: (unit[0], unit[2])),
        after=_figures(units, lambda unit: (unit[1], unit[2])),
        change=_changes(units),
    )


_FIGURES: dict[str, Callable[[Pairs], float | None]] = {
    "spearman": scores.spearman,
    "mae": scores.mean_distance,
    "bias": scores.bias,
}


def _figures(
    units: Counter[Unit], side: Callable[[Unit], tuple[float, float]]
) -> dict[str, Estimate | None]:
    pairs: Counter[tuple[float, float]] = Counter()
    for unit, count in units.items():
        pairs[side(unit)] += count
    return estimates(pairs, _FIGURES, seed="calibration")


def _changes(units: Counter[Unit]) -> dict[str, Estimate | None]:
    measures = {name: _change(_FIGURES[name]) for name in ("spearman", "mae")}
    return estimates(units, measures, seed="calibration")


def _change(
    figure: Callable[[Pairs], float | None],
) -> Callable[[Mapping[Unit, int]], float | None]:
    def measure(drawn: Mapping[Unit, int]) -> float | None:
        before: Counter[tuple[float, float]] = Counter()
        after: Counter[tuple[float, float]] = Counter()
        for (was, now, label), count in drawn.items():
            before[was, label] += count
            after[now, label] += count
        one, other = figure(before), figure(after)
        return None if one is None or other is None else other - one

    return measure


def _parts(number: int, folds: int) -> list[list[int]]:
    places = list(range(number))
    random.Random(number).shuffle(places)  # noqa: S311 - it cuts the samples, and keeps no secret
    return [part for fold in range(folds) if (part := places[fold::folds])]


def _left_out(every: Sequence[Any], part: Sequence[int]) -> list[Any]:
    gone = set(part)
    return [each for place, each in enumerate(every) if place not in gone]


def _expected(
    fittings: Sequence[tuple[Fitting, Sequence[int]]], signals: Sequence[Signals], strength: float
) -> list[float]:
    found = [0.0] * len(signals)
    for fitting, part in fittings:
        linear = fitting.solved(strength)
        for place in part:
            found[place] = linear.value(signals[place])
    return found


def _chosen(tried: dict[float, list[float]], labels: Sequence[float]) -> float:
    """Choose the strongest shrinkage whose squared error is as good as the best one's."""
    errors = {
        strength: [(found - label) ** 2 for found, label in zip(expected, labels, strict=True)]
        for strength, expected in tried.items()
    }
    means = {strength: math.fsum(each) / len(each) for strength, each in errors.items()}
    best = min(means, key=lambda strength: means[strength])
    spread = math.fsum((each - means[best]) ** 2 for each in errors[best]) / len(labels)
    enough = means[best] + _TOLERANCE * math.sqrt(spread / len(labels))
    return max(strength for strength, mean in means.items() if mean <= enough)
