"""The measured facts of a conversation: a flat map of metrics, and why one is missing."""

from dataclasses import dataclass, field
from typing import Any

from app.ai.wording.sentences import sentence

NO_TIMES = sentence("not_measured.no_times")
NO_ROLES = sentence("not_measured.no_roles")
NO_SERVICE = sentence("not_measured.no_agent")
NO_CUSTOMER = sentence("not_measured.no_customer")


@dataclass
class Measures:
    """`values` holds every metric, None where it can't be measured; `missing` the reasons."""

    values: dict[str, float | int | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def set(self, metric: str, value: float | None) -> None:
        """Set a metric, fractions rounded to four places."""
        self.values[metric] = round(value, 4) if isinstance(value, float) else value

    def set_missing(self, reason: str, *metrics: str) -> None:
        """Record that metrics can't be measured, and why."""
        for metric in metrics:
            self.values[metric] = None
            self.missing[metric] = reason

    def get(self, metric: str) -> float | int | None:
        return self.values.get(metric)

    def missing_as_json(self) -> list[dict[str, Any]]:
        return [{"metric": name, "reason": reason} for name, reason in self.missing.items()]
