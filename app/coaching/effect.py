"""Effect of coaching: scores of a criterion before and after a moment, and their difference."""

import math
from dataclasses import dataclass

from app.analytics.reports.means import MeasuredMean, change_of, rate

# With fewer conversations on a side there is no answer.
LEAST = 10


@dataclass(frozen=True, slots=True)
class Scores:
    """Number, sum and sum of squares of some scores, 0 to 100, and how many are neither 0 nor 100."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    between: int = 0

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.between + other.between,
        )

    def mean(self, *, is_share: bool) -> MeasuredMean:
        """Return the mean with its error, for a share that of Agresti and Caffo."""
        value = self.total / self.count
        if is_share:
            return rate(value / 100, self.count)
        return MeasuredMean(
            value, math.sqrt(max(0.0, self.squares / self.count - value**2)), self.count
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in points of 100, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        return self.low > 0 or self.high < 0


def difference(before: Scores, after: Scores) -> Difference | None:
    """Return after minus before; None with too few on a side, or where no error is known.

    Scores that are all 0 or 100 are a share of passed conversations, others a mean (Welch's interval).
    """
    if min(before.count, after.count) < LEAST:
        return None
    is_share = not before.between + after.between
    change = change_of(after.mean(is_share=is_share), before.mean(is_share=is_share))
    if change is None or change.error is None:
        return None
    return Difference(change.value, change.value - change.error, change.value + change.error)
