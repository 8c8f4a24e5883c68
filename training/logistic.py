"""Logistic regression in its dual form: as many unknowns as examples, however many n-grams."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_STEPS = 15
_LEAST_CURVATURE = 1e-6


def fit(rows: Numbers, labels: Numbers, penalty: float) -> tuple[Numbers, float]:
    """Return the weight of each column and the bias, by Newton steps from nothing."""
    count = len(labels)
    kernel = rows @ rows.T
    dual, bias = np.zeros(count), 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-(kernel @ dual + bias)))
        curvature = chance * (1 - chance) + _LEAST_CURVATURE
        target = kernel @ dual + bias + (labels - chance) / curvature
        system = np.ones((count + 1, count + 1))
        system[:count, :count] = kernel + penalty * np.diag(1 / curvature)
        system[count, count] = 0.0
        solved = np.linalg.solve(system, np.append(target, 0.0))
        dual, bias = solved[:count], float(solved[count])
    return rows.T @ dual, bias


def area_under_curve(scores: Numbers, labels: Numbers) -> float | None:
    """Return the AUC, ties counted half; None where only one label is there."""
    positive = labels > 0.5
    yes, no = int(positive.sum()), int((~positive).sum())
    if not yes or not no:
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * no))
