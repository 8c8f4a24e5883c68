"""The plan: how much of each metric a billing period includes, and what goes beyond it."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.settings import Settings
from app.usage.metrics import GB, Metric, shown


@dataclass(frozen=True, slots=True)
class Plan:
    """The tier's name and the included amounts: calls, deliveries, bytes."""

    tier: str
    included: Mapping[Metric, int]


def plan_of(settings: Settings) -> Plan:
    """Read the plan from the CQE_PLAN settings."""
    return Plan(
        settings.plan_tier,
        {
            Metric.CALLS: settings.plan_calls,
            Metric.WEBHOOKS: settings.plan_webhooks,
            Metric.STORAGE_GB: round(settings.plan_storage_gb * GB),
        },
    )


def standing(metric: Metric, used: int, included: int) -> dict[str, int | float]:
    """Set what was used beside what is included, written out."""
    return {
        "used": shown(metric, used),
        "included": shown(metric, included),
        "overage": shown(metric, max(0, used - included)),
    }
