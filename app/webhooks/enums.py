"""Enumerations of webhooks, as the tables store them and the API shows them."""

from enum import StrEnum

from app.core.enums import LabelledEnum


class TargetKind(LabelledEnum):
    """Kind of a receiver: of signed events, or of messages for people."""

    WEBHOOK = "webhook", "Webhook"
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Teams"
    EMAIL = "email", "E-mail"


class MailSecurity(LabelledEnum):
    """Encryption of the connection to a mail server: from the start, or before the sign-in."""

    STARTTLS = "starttls", "STARTTLS"
    TLS = "tls", "TLS from the start"


MESSAGE_KINDS = (TargetKind.SLACK, TargetKind.TEAMS, TargetKind.EMAIL)


class DeliveryState(LabelledEnum):
    """State of a delivery; an inactive subscription's deliveries stay pending."""

    PENDING = "pending", "Waiting"
    DELIVERING = "delivering", "Being sent"
    SUCCEEDED = "succeeded", "Delivered"
    FAILED = "failed", "Failed"
    CANCELED = "canceled", "Missed"


class Trigger(StrEnum):
    """Reason for a delivery; a redelivery or a recovery is manual."""

    EVENT = "event"
    TEST = "test"
    MANUAL = "manual"


# What a recovery sends again.
RECOVERABLE_STATES = (DeliveryState.FAILED, DeliveryState.CANCELED)
