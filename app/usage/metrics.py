"""What is metered, in which unit, and how a quantity of it is written out."""

from enum import StrEnum

GB = 1_000_000_000
# Storage is counted in whole steps, so that six decimals of a gigabyte write it exactly.
STORAGE_STEP_BYTES = 1_000


class Metric(StrEnum):
    """What a plan includes so much of (contract A4)."""

    CALLS = "calls"
    WEBHOOKS = "webhooks"
    STORAGE_GB = "storage_gb"


UNITS = {Metric.CALLS: "request", Metric.WEBHOOKS: "delivery", Metric.STORAGE_GB: "gb"}


def shown(metric: Metric, quantity: int) -> int | float:
    """Write a quantity out: calls and deliveries as they are, bytes as gigabytes."""
    return quantity / GB if metric == Metric.STORAGE_GB else quantity


def whole_steps(size_bytes: int) -> int:
    """Round a size up to whole steps of storage."""
    return -(-size_bytes // STORAGE_STEP_BYTES) * STORAGE_STEP_BYTES
