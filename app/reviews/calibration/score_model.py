"""Calibration models: from the signals of a judgement to the score that people would give."""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.reviews.agreement.bootstrap import Estimate

LEAST_LABELS = 30
# Beyond so many standard deviations a signal counts no more than there.
FARTHEST = 3.0

Signals = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation: the judge's signals, and the score that people gave it, 0 to 100."""

    signals: Signals
    label: float


@dataclass(frozen=True, slots=True)
class LinearModel:
    """A weighted sum of standardised signals.

    `columns` holds name, mean, standard deviation and weight; a missing signal counts as its mean.
    """

    bias: float
    columns: tuple[tuple[str, float, float, float], ...]

    def predict(self, signals: Signals) -> float:
        return self.bias + math.fsum(
            weight * min(FARTHEST, max(-FARTHEST, (signals[name] - mean) / deviation))
            for name, mean, deviation, weight in self.columns
            if name in signals
        )


@dataclass(frozen=True, slots=True)
class RisingCurve:
    """Straight lines between knots (from, to), both of which rise; constant beyond the ends."""

    knots: tuple[tuple[float, float], ...]

    def value(self, point: float) -> float:
        place = bisect_right(self.knots, point, key=lambda knot: knot[0])
        if place in (0, len(self.knots)):
            return self.knots[min(place, len(self.knots) - 1)][1]
        (left, low), (right, high) = self.knots[place - 1], self.knots[place]
        return low + (high - low) * (point - left) / (right - left)


@dataclass(frozen=True, slots=True)
class CalibrationModel:
    """A linear model whose predictions are then bent by a rising curve."""

    linear: LinearModel
    curve: RisingCurve

    def score(self, signals: Signals) -> float:
        """Return the score that people are expected to give, 0 to 100."""
        return min(100.0, max(0.0, self.curve.value(self.linear.predict(signals))))

    def as_json(self) -> dict[str, Any]:
        return {
            "bias": self.linear.bias,
            "columns": [list(column) for column in self.linear.columns],
            "knots": [list(knot) for knot in self.curve.knots],
        }


@dataclass(frozen=True, slots=True)
class Gain:
    """Agreement with the labels before and after, each conversation scored by a model without it."""

    before: dict[str, Estimate | None]
    after: dict[str, Estimate | None]
    change: dict[str, Estimate | None]


def model_from(stored: Mapping[str, Any]) -> CalibrationModel:
    """Read a model that `CalibrationModel.as_json` wrote."""
    columns = tuple(
        (name, mean, deviation, weight) for name, mean, deviation, weight in stored["columns"]
    )
    knots = tuple((start, end) for start, end in stored["knots"])
    return CalibrationModel(LinearModel(stored["bias"], columns), RisingCurve(knots))
