"""Metrics of usage, their units, and how quantities are shown."""

from enum import StrEnum

GB = 1_000_000_000
# Storage is counted in whole steps, which six decimals of a gigabyte can express.
STORAGE_STEP_BYTES = 1_000


class UsageMetric(StrEnum):
    """A quantity that the plan includes an amount of."""

    CALLS = "calls"
    WEBHOOKS = "webhooks"
    STORAGE_GB = "storage_gb"


UNITS = {
    UsageMetric.CALLS: "request",
    UsageMetric.WEBHOOKS: "delivery",
    UsageMetric.STORAGE_GB: "gb",
}


def in_unit(metric: UsageMetric, quantity: int) -> int | float:
    """Return a quantity in the unit of the API: calls, deliveries, or gigabytes for bytes."""
    return quantity / GB if metric == UsageMetric.STORAGE_GB else quantity


def whole_steps(size_bytes: int) -> int:
    """Round a size up to a multiple of the storage step."""
    return -(-size_bytes // STORAGE_STEP_BYTES) * STORAGE_STEP_BYTES
