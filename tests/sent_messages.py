"""Targets of messages, a mail server that is set, and messages to send."""

from typing import Any

from app.alerts import sending
from app.events.catalogue import EventType
from app.events.messages import SAMPLE_ALERT, SentMessage
from app.webhooks import mail_server, targets
from app.webhooks.enums import MailSecurity, TargetKind
from tests.mail_server import PASSWORD, USER, Mailbox
from tests.webhook_harness import WebhookHarness


def set_server(harness: WebhookHarness, mailbox: Mailbox, **changes: Any) -> None:
    values: dict[str, Any] = {
        "host": "localhost",
        "port": mailbox.port,
        "security": MailSecurity.STARTTLS,
        "user": USER,
        "sender": "quality@example.com",
        "password": PASSWORD,
        **changes,
    }
    with harness.runtime.db.writing() as session:
        mail_server.replace(session, harness.runtime.keyring, **values)


def add(harness: WebhookHarness, kind: TargetKind, address: str) -> str:
    with harness.runtime.db.writing() as session:
        made = targets.create(session, harness.runtime.keyring, kind=kind, address=address)
    return str(made["id"])


def send(harness: WebhookHarness, target_ids: list[str], **changes: Any) -> str:
    message = SentMessage(**{**SAMPLE_ALERT, **changes})  # type: ignore[typeddict-item]
    with harness.runtime.db.writing() as session:
        return sending.publish(session, EventType.ALERT_RAISED, message, target_ids).id
