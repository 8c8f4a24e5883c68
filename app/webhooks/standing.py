"""The seven-day rule: when a subscription whose every delivery fails is switched off."""

from dataclasses import dataclass
from datetime import datetime, timedelta

_FEWEST_FAILURES = 2


@dataclass(frozen=True, slots=True)
class Standing:
    """How a subscription has done since its last success.

    Args:
        failing_since: end of the first failed delivery, all its attempts, after that success.
        failed: failed deliveries since then.
    """

    failing_since: datetime | None = None
    failed: int = 0

    def after_failure(self, ended_at: datetime) -> "Standing":
        """Return the standing after a delivery has used up its attempts."""
        return Standing(self.failing_since or ended_at, self.failed + 1)

    def is_hopeless(self, now: datetime, *, limit_s: float) -> bool:
        """Whether it is to be switched off: asked when a delivery fails, by no timer.

        An idle subscription stays on; a single failed delivery is never enough.
        """
        return (
            self.failing_since is not None
            and self.failed >= _FEWEST_FAILURES
            and now - self.failing_since >= timedelta(seconds=limit_s)
        )


CLEAN = Standing()
