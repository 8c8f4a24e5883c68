"""Measures of a model on labels."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def area_under_curve(scores: Numbers, labels: Numbers) -> float | None:
    """Return the AUC, ties counted half; None where only one label is there."""
    positive = labels > 0.5
    yes, no = int(positive.sum()), int((~positive).sum())
    if not yes or not no:
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - yes * (yes + 1) / 2) / (yes * no))
