"""Kill scenarios: processes killed with -9 while events flow; short in tests, long in `bench`."""

import threading
import time

from sqlalchemy import select

from app.events.models import Event
from app.webhooks.enums import TargetKind
from tests import delivery_audit, sent_messages
from tests.delivery_audit import DeliveryAudit, MessageAudit
from tests.key_rotations import KeyRotations, moment_of
from tests.mail_server import Mailbox
from tests.receiver import Receiver, status
from tests.waiting import wait_until
from tests.webhook_harness import WebhookHarness

_ANSWER_AFTER_S = 0.01
_MESSAGES_A_KILL = 3


def senders(
    harness: WebhookHarness,
    receiver: Receiver,
    *,
    events: int,
    kills: int,
    answer_after_s: float = _ANSWER_AFTER_S,
) -> tuple[int, DeliveryAudit]:
    """Publish events one by one while the sender is killed, evenly over their number."""
    receiver.script("/hook", status(200, after_s=answer_after_s))
    published: list[str] = []
    publisher = threading.Thread(target=lambda: _publish(harness, published, events))
    publisher.start()
    for number in range(1, kills + 1):
        sender = harness.start_sender()
        target = events * number // (kills + 1)
        wait_until(lambda goal=target: len(receiver.requests) >= goal)  # type: ignore[misc]
        sender.kill()
    publisher.join()
    harness.start_sender()
    _wait_for_end(harness)
    return kills, delivery_audit.audit(harness.runtime.db, published, receiver.received())


def web_and_senders(
    harness: WebhookHarness, receiver: Receiver, *, events: int, kills: int
) -> tuple[int, DeliveryAudit]:
    """Let callers cause events over HTTP while web workers and the sender are killed in turn."""
    receiver.script("/hook", status(200, after_s=_ANSWER_AFTER_S))
    web, sender = harness.start_web(), harness.start_sender()
    done = 0
    with KeyRotations(harness.runtime, web.base, events) as callers:
        while callers.running:
            goal = (done + 1) * events // (kills + 1)
            wait_until(
                lambda goal=goal: len(callers.acknowledged) >= goal or not callers.running,  # type: ignore[misc]
            )
            if done < kills and callers.running:
                if done % 2 == 0:
                    web.kill_a_worker()
                else:
                    sender.kill()
                    sender = harness.start_sender()
                done += 1
    _wait_for_end(harness)
    return done, _of_rotations(harness, receiver, callers.acknowledged)


def messages(
    harness: WebhookHarness, receiver: Receiver, mailbox: Mailbox, *, kills: int
) -> MessageAudit:
    """Send messages to a mailbox and to a chat while the sender is killed."""
    sent_messages.set_server(harness, mailbox)
    slack = receiver.script("/slack", status(200, after_s=2 * _ANSWER_AFTER_S))
    target_ids = [
        sent_messages.add(harness, TargetKind.EMAIL, "lead@example.com"),
        sent_messages.add(harness, TargetKind.SLACK, slack),
    ]
    titles: list[str] = []
    for number in range(kills):
        sender = harness.start_sender()
        for _ in range(_MESSAGES_A_KILL):
            titles.append(f"Message {len(titles)}")
            sent_messages.send(harness, target_ids, title=titles[-1])
        # Some are cut off in the middle of a message, and some before the first.
        mailbox.wait_for(min(len(titles) - 2, len(mailbox.letters) + number % 3))
        sender.kill()
    harness.start_sender()
    _wait_for_end(harness)
    return delivery_audit.audit_messages(
        harness.runtime.db,
        titles,
        mailed=[str(letter["Subject"]) for letter in mailbox.letters],
        posted=[str(request.event["text"]) for request in receiver.received("/slack")],
    )


def _of_rotations(
    harness: WebhookHarness, receiver: Receiver, acknowledged: list[tuple[str, str]]
) -> DeliveryAudit:
    """Count with event ids in place of keys and moments; a missing event is a lost one."""
    ids = {moment_of(request.event): request.event["id"] for request in receiver.received()}
    known = {ids.get(moment, f"lost {moment}") for moment in acknowledged}
    with harness.runtime.db.reading() as session:
        stored = set(session.scalars(select(Event.id)))
    # What was stored for a caller that never got its answer must arrive as well.
    return delivery_audit.audit(harness.runtime.db, known | stored, receiver.received())


def _publish(harness: WebhookHarness, published: list[str], count: int) -> None:
    for _ in range(count):
        published += harness.publish()
        time.sleep(0.002)


def _wait_for_end(harness: WebhookHarness) -> None:
    wait_until(lambda: delivery_audit.open_deliveries(harness.runtime.db) == 0)
