"""Auto-disable: switches a subscription off whose every delivery has failed for seven days."""

from dataclasses import dataclass
from datetime import datetime, timedelta

_FEWEST_FAILURES = 2


@dataclass(frozen=True, slots=True)
class FailureStreak:
    """The failed deliveries of a subscription since its last success.

    Args:
        since: when the first of them failed, after all its attempts.
        count: how many have failed.
    """

    since: datetime | None = None
    count: int = 0

    def after_failure(self, ended_at: datetime) -> "FailureStreak":
        """Return the streak with one more failed delivery."""
        return FailureStreak(self.since or ended_at, self.count + 1)

    def disables(self, now: datetime, *, limit_s: float) -> bool:
        """Whether the subscription is to be switched off.

        Checked when a delivery fails, by no timer: an idle subscription stays on. One failed
        delivery is never enough.
        """
        return (
            self.since is not None
            and self.count >= _FEWEST_FAILURES
            and now - self.since >= timedelta(seconds=limit_s)
        )


NO_FAILURES = FailureStreak()
