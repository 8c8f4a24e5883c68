"""Plan: how much of each metric a billing period includes."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.settings import Settings
from app.usage.metrics import GB, UsageMetric, in_unit


@dataclass(frozen=True, slots=True)
class Plan:
    """Name of the plan, and the included calls, deliveries and bytes."""

    tier: str
    included: Mapping[UsageMetric, int]


def plan_of(settings: Settings) -> Plan:
    """Read the plan from the CQE_PLAN settings."""
    return Plan(
        settings.plan_tier,
        {
            UsageMetric.CALLS: settings.plan_calls,
            UsageMetric.WEBHOOKS: settings.plan_webhooks,
            UsageMetric.STORAGE_GB: round(settings.plan_storage_gb * GB),
        },
    )


def compared(metric: UsageMetric, used: int, included: int) -> dict[str, int | float]:
    """Return used and included amounts and the overage, in the unit of the API."""
    return {
        "used": in_unit(metric, used),
        "included": in_unit(metric, included),
        "overage": in_unit(metric, max(0, used - included)),
    }
