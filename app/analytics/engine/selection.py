"""Questions: the period and the filters that choose which facts an answer is about."""

from dataclasses import dataclass, field, replace

from app.analytics.engine.periods import Period


@dataclass(frozen=True, slots=True)
class Selection:
    """A period and filters, by the names that the API has for them."""

    period: Period
    engagement_id: str | None = None
    campaign_id: str | None = None
    call_center_id: str | None = None
    executive_id: str | None = None
    scorecard_id: str | None = None
    channel: tuple[str, ...] = field(default=())

    def before(self) -> "Selection":
        """Ask the same about the period before."""
        return replace(self, period=self.period.before())

    def ids(self) -> dict[str, str]:
        """Return the ids that are filtered by, by their columns."""
        named = {
            "engagement_id": self.engagement_id,
            "campaign_id": self.campaign_id,
            "call_center_id": self.call_center_id,
            "executive_id": self.executive_id,
            "scorecard_id": self.scorecard_id,
        }
        return {name: key for name, key in named.items() if key is not None}

    def filters(self) -> dict[str, tuple[str, ...]]:
        """Return the values that are allowed in each filtered column."""
        allowed: dict[str, tuple[str, ...]] = {name: (key,) for name, key in self.ids().items()}
        if self.channel:
            allowed["channel"] = self.channel
        return allowed
