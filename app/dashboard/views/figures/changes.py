"""Changes between two periods, and whether they exceed their error."""

import math
from dataclasses import dataclass

# The 97.5th percentile of the normal distribution.
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Change:
    """A difference since the period before, and the half width of its 95 % interval."""

    value: float
    error: float | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        return self.error is not None and abs(self.value) > self.error

    @property
    def direction(self) -> str:
        """The word for the sign: up, down or level."""
        if not self.value:
            return "level"
        return "up" if self.value > 0 else "down"


@dataclass(frozen=True, slots=True)
class MeasuredMean:
    """The mean, the standard deviation and the number of some values."""

    mean: float
    deviation: float
    count: int

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return self.deviation / math.sqrt(self.count)

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of the mean."""
        return _Z * self.standard_error


def rate(share: float, count: int) -> MeasuredMean:
    """Return a share of `count`, in percent."""
    return MeasuredMean(100 * share, 100 * math.sqrt(max(0.0, share * (1 - share))), count)


def change_of(now: MeasuredMean | None, before: MeasuredMean | None) -> Change | None:
    """Return the difference of two means with its error; None where one of them is missing."""
    if now is None or before is None:
        return None
    return Change(now.mean - before.mean, _Z * standard_error(now, before))


def standard_error(now: MeasuredMean, before: MeasuredMean) -> float:
    """Return the standard error of the difference of two means."""
    return math.hypot(now.standard_error, before.standard_error)
