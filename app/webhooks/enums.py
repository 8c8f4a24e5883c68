"""Enumerations of webhooks, as the tables store them and the API shows them."""

from enum import StrEnum


class DeliveryState(StrEnum):
    """State of a delivery; an inactive subscription's deliveries stay pending."""

    PENDING = "pending"
    DELIVERING = "delivering"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Trigger(StrEnum):
    """Reason for a delivery; a redelivery or a recovery is manual."""

    EVENT = "event"
    TEST = "test"
    MANUAL = "manual"


# What a recovery sends again.
RECOVERABLE_STATES = (DeliveryState.FAILED, DeliveryState.CANCELED)
