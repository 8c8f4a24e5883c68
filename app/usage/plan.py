"""Plan: the metered quantities, billing periods, and how much of each a period includes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from app.core.enums import LabelledEnum
from app.core.settings import Settings

GB = 1_000_000_000
# Storage is counted in whole steps, which six decimals of a gigabyte can express.
STORAGE_STEP_BYTES = 1_000
# A billing period, a UTC month, as a regular expression.
PERIOD_PATTERN = "[0-9]{4}-(0[1-9]|1[0-2])"


class UsageMetric(LabelledEnum):
    CALLS = "calls", "API calls"
    WEBHOOKS = "webhooks", "Webhooks"
    STORAGE_GB = "storage_gb", "Storage, GB"


UNITS = {
    UsageMetric.CALLS: "request",
    UsageMetric.WEBHOOKS: "delivery",
    UsageMetric.STORAGE_GB: "gb",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Name of the plan, and the included calls, deliveries and bytes."""

    tier: str
    included: Mapping[UsageMetric, int]


def in_unit(metric: UsageMetric, quantity: int) -> int | float:
    """Return a quantity in the unit of the API: calls, deliveries, or gigabytes for bytes."""
    return quantity / GB if metric == UsageMetric.STORAGE_GB else quantity


def whole_steps(size_bytes: int) -> int:
    return -(-size_bytes // STORAGE_STEP_BYTES) * STORAGE_STEP_BYTES


def period_of(moment: datetime) -> str:
    """Return the billing period of a time, YYYY-MM."""
    return moment.astimezone(UTC).strftime("%Y-%m")


def date_of(moment: datetime) -> str:
    """Return the UTC day of a time, YYYY-MM-DD."""
    return moment.astimezone(UTC).date().isoformat()


def date_bounds(period: str) -> tuple[str, str]:
    """Return the lowest and the highest text that a date of the period can be."""
    return f"{period}-01", f"{period}-31"


def period_before(period: str) -> str:
    year, month = map(int, period.split("-"))
    return f"{year:04}-{month - 1:02}" if month > 1 else f"{year - 1:04}-12"


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
