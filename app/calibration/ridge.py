"""Ridge regression over a judgement's signals, in plain Python: some dozen columns, solved at once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from app.ai.insights.signals import EFFORT, SCORE

Signals = Mapping[str, float]
LIMIT = 3.0
_LEAST_SCALE = 1e-3
# What is shrunk how much: the judge's own verdicts least, so that with few labels, or with labels
# that the rest does not explain, little but the judge's own order is left.
_PENALTIES = {SCORE: 0.03, EFFORT: 0.003}
_PREDICTIONS = ("dimension.", "resolutionProbability", "predictedSatisfaction")
_PREDICTION_PENALTY = 0.3


@dataclass(frozen=True, slots=True)
class Linear:
    """`columns` holds name, mean, scale and weight; what a judgement lacks counts as its mean."""

    bias: float
    columns: tuple[tuple[str, float, float, float], ...]

    def value(self, signals: Signals) -> float:
        """Return the value that is expected; each column counts to three scales at most."""
        return self.bias + math.fsum(
            weight * _standard(signals[name], mean, scale)
            for name, mean, scale, weight in self.columns
            if name in signals
        )


class Fitting:
    """The equations of some labelled signals, made once and solved for any strength.

    There are as many unknowns as columns or as conversations, whichever is less.
    """

    def __init__(self, signals: Sequence[Signals], labels: Sequence[float]) -> None:
        self._names = sorted({name for each in signals for name in each})
        known = [[each[name] for each in signals if name in each] for name in self._names]
        self._means = [math.fsum(values) / len(values) for values in known]
        self._scales = [
            _scale(values, mean) for values, mean in zip(known, self._means, strict=True)
        ]
        self._middle = math.fsum(labels) / len(labels)
        self._distances = [label - self._middle for label in labels]
        # Each column is made as much smaller as its weight is to be shrunk.
        self._easings = [1 / math.sqrt(_penalty(name)) for name in self._names]
        self._columns = [
            [
                easing * _standard(each[name], mean, scale) if name in each else 0.0
                for each in signals
            ]
            for name, mean, scale, easing in zip(
                self._names, self._means, self._scales, self._easings, strict=True
            )
        ]
        self._by_column = len(self._names) < len(labels)
        self._vectors = (
            self._columns if self._by_column else list(map(list, zip(*self._columns, strict=True)))
        )
        self._products = [
            [sum(map(mul, vector, other)) for other in self._vectors[: place + 1]]
            for place, vector in enumerate(self._vectors)
        ]

    def solved(self, strength: float) -> Linear:
        """Return the weights that fit best while the penalty on their squares is this strong."""
        system = [[*row] for row in self._products]
        for place, row in enumerate(system):
            row[place] += strength
        if self._by_column:
            targets = [sum(map(mul, column, self._distances)) for column in self._columns]
            eased = _solved(system, targets)
        else:
            shares = _solved(system, self._distances)
            eased = [sum(map(mul, column, shares)) for column in self._columns]
        weights = map(mul, eased, self._easings)
        # A column that never varies has no scale and gets no weight.
        columns = zip(self._names, self._means, self._scales, weights, strict=True)
        return Linear(self._middle, tuple(each for each in columns if each[3]))


def _penalty(name: str) -> float:
    if name.startswith(_PREDICTIONS):
        return _PENALTIES.get(name, _PREDICTION_PENALTY)
    return _PENALTIES.get(name, 1.0)


def _scale(values: Sequence[float], mean: float) -> float:
    scale = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return scale if scale > _LEAST_SCALE else math.inf


def _standard(value: float, mean: float, scale: float) -> float:
    return min(LIMIT, max(-LIMIT, (value - mean) / scale))


def _solved(lower: list[list[float]], targets: Sequence[float]) -> list[float]:
    """Solve a symmetric positive system, of which the lower triangle is given, by Cholesky."""
    factor: list[list[float]] = []
    forward: list[float] = []
    for row, target in zip(lower, targets, strict=True):
        own: list[float] = []
        for place, other in enumerate(factor):
            own.append((row[place] - sum(map(mul, own, other))) / other[place])
        own.append(math.sqrt(row[len(factor)] - sum(map(mul, own, own))))
        forward.append((target - sum(map(mul, own, forward))) / own[-1])
        factor.append(own)
    found = [0.0] * len(factor)
    for place in range(len(factor) - 1, -1, -1):
        rest = sum(factor[below][place] * found[below] for below in range(place + 1, len(factor)))
        found[place] = (forward[place] - rest) / factor[place][place]
    return found
