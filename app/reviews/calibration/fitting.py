"""Fitting of calibration models, and what they gain on conversations that they have not seen.

Imports numpy, which takes longer than most commands: import this module where it is used.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from app.judge.results import EFFORT, SCORE
from app.reviews.agreement import two_raters
from app.reviews.agreement.bootstrap import Estimate, estimates
from app.reviews.agreement.two_raters import Pairs
from app.reviews.calibration.score_model import (
    FARTHEST,
    CalibrationModel,
    Gain,
    LinearModel,
    RisingCurve,
    Sample,
)

_STRENGTHS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
_FOLDS, _INNER_FOLDS = 5, 4
# Of two strengths that differ by less than half a standard error the stronger one is kept.
_TOLERANCE = 0.5
_LEAST_DEVIATION = 1e-3
# Relative penalties: the judge's own verdicts are shrunk least, so that with few labels, or with
# labels that the other signals do not explain, little but the judge's own order is left.
_PENALTIES = {SCORE: 0.03, EFFORT: 0.003}
_PREDICTIONS = ("dimension.", "resolutionProbability", "predictedSatisfaction")
_PREDICTION_PENALTY = 0.3

Unit = tuple[float, float, float]


class Ridge:
    """The equations of a ridge regression, made once and solved for any strength."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        names = sorted({name for sample in samples for name in sample.signals})
        table = np.array(
            [[sample.signals.get(name, np.nan) for name in names] for sample in samples]
        )
        labels = np.array([sample.label for sample in samples])
        varies = np.nanstd(table, axis=0) > _LEAST_DEVIATION
        self._names = [name for name, is_used in zip(names, varies, strict=True) if is_used]
        table = table[:, varies]
        self._means, self._deviations = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        standard = np.clip((table - self._means) / self._deviations, -FARTHEST, FARTHEST)
        standard = np.nan_to_num(standard)
        self._bias = float(labels.mean())
        self._products = standard.T @ standard
        self._targets = standard.T @ (labels - self._bias)
        self._penalties = np.diag([_penalty(name) for name in self._names])

    def solve(self, strength: float) -> LinearModel:
        """Return the weights of the least squared error and penalty; `strength` scales the latter."""
        weights = np.linalg.solve(self._products + strength * self._penalties, self._targets)
        columns = (self._means.tolist(), self._deviations.tolist(), weights.tolist())
        return LinearModel(self._bias, tuple(zip(self._names, *columns, strict=True)))


def fit(samples: Sequence[Sample], *, folds: int = _FOLDS) -> CalibrationModel:
    """Fit a model; the same samples in the same order give the same one.

    Raises:
        ValueError: fewer than two samples.
    """
    if len(samples) < 2:
        raise ValueError("a calibration model needs two samples")
    parts = _parts(len(samples), folds)
    ridges = [(Ridge(_without(samples, part)), part) for part in parts]
    predicted = {strength: _predicted(ridges, samples, strength) for strength in _STRENGTHS}
    labels = [sample.label for sample in samples]
    strength = _chosen_strength(predicted, labels)
    # On predictions for conversations that were left out: on the others it would be too steep.
    curve = rising_curve(zip(predicted[strength], labels, strict=True))
    return CalibrationModel(Ridge(samples).solve(strength), curve)


def rising_curve(points: Iterable[tuple[float, float]]) -> RisingCurve:
    """Fit the rising curve of the least squared distance to points (from, to): isotonic regression.

    Neighbours that would fall are merged into their means (Ayer et al. 1955); each merged block is
    a knot.

    Raises:
        ValueError: there are no points.
    """
    blocks: list[tuple[float, float, int]] = []
    for start, end in sorted(points):
        block = (start, end, 1)
        # Points with the same start are one block, whatever their ends.
        while blocks and (blocks[-1][1] >= block[1] or blocks[-1][0] >= block[0]):
            block = _merged(blocks.pop(), block)
        blocks.append(block)
    if not blocks:
        raise ValueError("a curve needs points")
    return RisingCurve(tuple((start, end) for start, end, _ in blocks))


def cross_validated(samples: Sequence[Sample]) -> Gain:
    """Measure what calibrating gains on conversations that took no part in the fit."""
    after = [0.0] * len(samples)
    for part in _parts(len(samples), _FOLDS):
        model = fit(_without(samples, part), folds=_INNER_FOLDS)
        for place in part:
            after[place] = model.score(samples[place].signals)
    units = Counter(
        (sample.signals[SCORE], score, sample.label)
        for sample, score in zip(samples, after, strict=True)
    )
    return Gain(
        before=_figures(units, lambda unit: (unit[0], unit[2])),
        after=_figures(units, lambda unit: (unit[1], unit[2])),
        change=estimates(
            units,
            {name: _change(_FIGURES[name]) for name in ("spearman", "mae")},
            seed="calibration",
        ),
    )


_FIGURES: Mapping[str, Callable[[Pairs], float | None]] = {
    "spearman": two_raters.spearman,
    "mae": two_raters.mean_distance,
    "bias": two_raters.bias,
}


def _figures(
    units: Counter[Unit], side: Callable[[Unit], tuple[float, float]]
) -> dict[str, Estimate | None]:
    pairs: Counter[tuple[float, float]] = Counter()
    for unit, count in units.items():
        pairs[side(unit)] += count
    return estimates(pairs, _FIGURES, seed="calibration")


def _change(
    figure: Callable[[Pairs], float | None],
) -> Callable[[Mapping[Unit, int]], float | None]:
    def measure(units: Mapping[Unit, int]) -> float | None:
        before: Counter[tuple[float, float]] = Counter()
        after: Counter[tuple[float, float]] = Counter()
        for (score_before, score_after, label), count in units.items():
            before[score_before, label] += count
            after[score_after, label] += count
        figure_before, figure_after = figure(before), figure(after)
        if figure_before is None or figure_after is None:
            return None
        return figure_after - figure_before

    return measure


def _parts(number: int, folds: int) -> list[list[int]]:
    places = list(range(number))
    random.Random(number).shuffle(places)  # noqa: S311 - not a secret
    return [part for fold in range(folds) if (part := places[fold::folds])]


def _without(samples: Sequence[Sample], part: Sequence[int]) -> list[Sample]:
    left_out = set(part)
    return [sample for place, sample in enumerate(samples) if place not in left_out]


def _predicted(
    ridges: Sequence[tuple[Ridge, Sequence[int]]], samples: Sequence[Sample], strength: float
) -> list[float]:
    """Predict each sample by the model that was fitted without it."""
    predictions = [0.0] * len(samples)
    for ridge, part in ridges:
        model = ridge.solve(strength)
        for place in part:
            predictions[place] = model.predict(samples[place].signals)
    return predictions


def _chosen_strength(predicted: Mapping[float, Sequence[float]], labels: Sequence[float]) -> float:
    """Choose the strongest penalty whose squared error is about as good as the best one's."""
    errors = {
        strength: (np.array(values) - np.array(labels)) ** 2
        for strength, values in predicted.items()
    }
    best = min(errors.values(), key=lambda error: float(error.mean()))
    enough = best.mean() + _TOLERANCE * best.std() / math.sqrt(len(labels))
    return max(strength for strength, error in errors.items() if error.mean() <= enough)


def _penalty(name: str) -> float:
    predicted = name.startswith(_PREDICTIONS)
    return _PENALTIES.get(name, _PREDICTION_PENALTY if predicted else 1.0)


def _merged(
    one: tuple[float, float, int], other: tuple[float, float, int]
) -> tuple[float, float, int]:
    count = one[2] + other[2]
    start, end = (
        (a * one[2] + b * other[2]) / count for a, b in zip(one[:2], other[:2], strict=True)
    )
    return start, end, count
