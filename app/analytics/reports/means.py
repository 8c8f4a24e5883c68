"""Means with their errors, and whether two of them differ by more than chance."""

import math
from dataclasses import dataclass

# The 97.5th percentiles of Student's t with 1, 2 and 3 degrees of freedom.
_FIRST_PERCENTILES = (12.706, 4.303, 3.182)
# A change is reported from this many values on both sides, and beyond this many standard errors.
FEWEST_COMPARED, STANDARD_ERRORS = 20, 2


@dataclass(frozen=True, slots=True)
class Change:
    """A difference since the period before, and the half width of its 95 % interval, if known."""

    value: float
    error: float | None = None

    @property
    def is_clear(self) -> bool:
        """Return whether the interval of the difference leaves out zero."""
        return self.error is not None and abs(self.value) > self.error

    @property
    def direction(self) -> str:
        """The word for the sign: up, down or level."""
        if not self.value:
            return "level"
        return "up" if self.value > 0 else "down"


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """The mean, the standard deviation (of these values alone) and the number of some values."""

    mean: float
    deviation: float
    count: int

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; a single value leaves it open."""
        return self.deviation / math.sqrt(self.count - 1) if self.count > 1 else math.inf

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of the mean."""
        return percentile_of_t(self.count - 1) * self.standard_error


def percentile_of_t(freedom: float) -> float:
    """Return the 97.5th percentile of Student's t; a fraction of a degree of freedom is cut off below 4."""
    # 4 may have been computed as 3.9999999999999996.
    freedom += 1e-9
    if freedom < len(_FIRST_PERCENTILES) + 1:
        return _FIRST_PERCENTILES[max(int(freedom), 1) - 1]
    return 1.96 + 2.372 / freedom + 2.822 / freedom**2 + 2.556 / freedom**3


def rate(share: float, count: int) -> MeasuredMean:
    """Return a share of `count`, in percent.

    Its error is that with one more of either kind (Agresti and Caffo), so that 0 and 100 % have
    an error, too.
    """
    likely = (share * count + 1) / (count + 2)
    # `standard_error` divides by the root of count - 1, their formula by that of count + 2.
    variance = likely * (1 - likely) * (count - 1) / (count + 2)
    return MeasuredMean(100 * share, 100 * math.sqrt(variance), count)


def change_of(now: MeasuredMean | None, before: MeasuredMean | None) -> Change | None:
    """Return the difference of two means with its error; None where one of them is missing."""
    if now is None or before is None:
        return None
    error = standard_error(now, before)
    if not math.isfinite(error):
        return Change(now.mean - before.mean)
    # The degrees of freedom of Welch's test.
    parts = sum(mean.standard_error**4 / (mean.count - 1) for mean in (now, before))
    freedom = error**4 / parts if parts else math.inf
    return Change(now.mean - before.mean, percentile_of_t(freedom) * error)


def standard_error(now: MeasuredMean, before: MeasuredMean) -> float:
    return math.hypot(now.standard_error, before.standard_error)


def differ(now: MeasuredMean, before: MeasuredMean, errors: float = STANDARD_ERRORS) -> bool:
    """Return whether two means differ by more than chance, with enough values on both sides."""
    if min(now.count, before.count) < FEWEST_COMPARED:
        return False
    return abs(now.mean - before.mean) > errors * standard_error(now, before)
