"""Delivery of an event: attempts, retries, signatures, changes meanwhile, and metering."""

import hashlib
import hmac
import time
from collections.abc import Callable
from datetime import timedelta

import orjson
from jsonschema import Draft202012Validator
from sqlalchemy import func, select, update

from app.core.clock import utc_now
from app.events.catalogue import EventType
from app.events.schemas import schema_of
from app.usage.models import UsageRecord
from app.webhooks import deliveries, service
from app.webhooks.models import Delivery, Subscription
from app.webhooks.sender import loop
from tests import receiver as answers
from tests.receiver import Receiver
from tests.rules.test_webhook_signatures import standard_signature
from tests.webhook_harness import WebhookHarness


def deliveries_metered(harness: WebhookHarness) -> float:
    with harness.runtime.db.reading() as session:
        metered = select(func.sum(UsageRecord.quantity)).where(UsageRecord.type == "webhooks")
        return session.scalar(metered) or 0


def set_secrets(harness: WebhookHarness, secrets: dict[str, str]) -> None:
    with harness.runtime.db.writing() as session:
        for subscription_id, secret in secrets.items():
            session.get_one(Subscription, subscription_id).secret = secret


def test_an_event_arrives_signed_and_byte_for_byte_as_it_is_stored(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, secret = harness.subscribe(receiver.url())
    [event_id] = harness.publish()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    [request] = receiver.received()
    assert request.event == delivery["payload"]
    assert request.event["id"] == event_id
    Draft202012Validator(schema_of(EventType.API_KEY_ROTATED)).validate(request.event)
    expected = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-webhook-signature"] == expected
    names = dict(request.raw_headers)
    assert names["X-Webhook-Id"] == names["webhook-id"] == event_id
    assert names["X-Webhook-Delivery"] == delivery["id"]
    assert names["X-Webhook-Attempt"] == "1"
    assert abs(int(names["webhook-timestamp"]) - time.time()) < 10
    assert names["webhook-signature"] == standard_signature(
        secret, event_id, names["webhook-timestamp"], request.body
    )
    assert delivery["attempt_count"] == 1
    assert delivery["attempts"][0]["outcome"] == "success"
    assert delivery["attempts"][0]["response_excerpt"] == "ok"
    assert delivery["completed_at"] is not None
    assert delivery["next_attempt_at"] is None


def test_three_attempts_with_their_delays_from_the_end_of_the_one_before(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_retry_delays=(0.2, 0.5))
    receiver.script("/hook", answers.status(500, b"broken", after_s=0.2))
    subscription_id, secret = harness.subscribe(receiver.url())
    [event_id] = harness.publish()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "failed")
    first, second, third = receiver.received()
    # 0.2 s until the answer, then at least the delay.
    assert second.at - first.at >= 0.4
    assert third.at - second.at >= 0.7
    assert [request.headers["x-webhook-attempt"] for request in (first, second, third)] == [
        "1",
        "2",
        "3",
    ]
    assert {request.headers["x-webhook-id"] for request in (first, second, third)} == {event_id}
    assert {request.headers["x-webhook-delivery"] for request in (first, second, third)} == {
        delivery["id"]
    }
    assert len({request.body for request in (first, second, third)}) == 1
    for request in (first, second, third):
        assert request.headers["webhook-signature"] == standard_signature(
            secret, event_id, request.headers["webhook-timestamp"], request.body
        )
    assert delivery["attempt_count"] == 3
    assert [each["number"] for each in delivery["attempts"]] == [1, 2, 3]
    assert {each["outcome"] for each in delivery["attempts"]} == {"http_error"}
    assert deliveries_metered(harness) == 1


def test_a_success_ends_the_attempts(harness: WebhookHarness, receiver: Receiver) -> None:
    receiver.script("/hook", answers.status(503, b""), answers.status(204, b""))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    assert [each["status_code"] for each in delivery["attempts"]] == [503, 204]
    time.sleep(0.5)
    assert len(receiver.received()) == 2


def test_a_timeout_is_recorded_as_one(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=1.0)
    receiver.script("/hook", answers.hang, answers.status(200))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    assert delivery["attempts"][0]["outcome"] == "timeout"
    assert delivery["attempts"][0]["duration_ms"] >= 1000
    assert delivery["attempts"][0]["status_code"] is None
    assert delivery["attempts"][0]["error"]


def test_a_url_that_is_no_longer_allowed_is_blocked_and_never_called(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_allowed_cidrs=())
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "failed")
    assert {each["outcome"] for each in delivery["attempts"]} == {"blocked_url"}
    assert "127.0.0.1" not in delivery["attempts"][0]["error"]
    assert receiver.connections == 0


def test_the_next_attempt_takes_the_new_url(harness: WebhookHarness, receiver: Receiver) -> None:
    receiver.script("/old", answers.status(500, b""))
    subscription_id, _ = harness.subscribe(receiver.url("/old"))
    harness.publish()
    harness.start_sender()
    receiver.wait_for(1, "/old")
    harness.change(subscription_id, url=receiver.url("/new"))
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    assert receiver.received("/new")
    assert delivery["attempts"][0]["url"] == receiver.url("/old")
    assert delivery["url"] == receiver.url("/new")


def test_inactive_holds_what_is_pending_and_active_resumes_it(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    [event_id] = harness.publish()
    harness.change(subscription_id, active=False)
    [missed_id] = harness.publish()
    harness.start_sender()
    time.sleep(1.5)
    assert receiver.received() == []
    held, missed = harness.history(subscription_id)
    assert (held["status"], missed["status"]) == ("pending", "canceled")
    assert missed["attempt_count"] == 0
    harness.change(subscription_id, active=True)
    harness.wait_for_status(subscription_id, "succeeded")
    assert [each.event["id"] for each in receiver.received()] == [event_id]
    assert deliveries.recover(harness.runtime.db, subscription_id) == 1
    assert deliveries.recover(harness.runtime.db, subscription_id) == 0
    assert [each.event["id"] for each in receiver.wait_for(2)] == [event_id, missed_id]


def test_a_test_reaches_an_inactive_subscription_and_is_not_metered(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.change(subscription_id, active=False)
    harness.start_sender()
    with harness.runtime.db.writing() as session:
        started = deliveries.send_test(session, subscription_id, None)
    [request] = receiver.wait_for(1)
    assert request.event["id"] == started.event_id
    assert request.event["data"]["test"] is True
    Draft202012Validator(schema_of(EventType.API_KEY_ROTATED)).validate(request.event)
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    assert delivery["trigger"] == "test"
    assert deliveries_metered(harness) == 0


def test_a_deleted_subscription_gets_nothing_more(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    receiver.script("/hook", answers.status(500, b""))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish(2)
    harness.start_sender()
    receiver.wait_for(2)
    with harness.runtime.db.writing() as session:
        service.remove(session, subscription_id)
    found = harness.wait_until(
        subscription_id, lambda found: {each["status"] for each in found} == {"canceled"}
    )
    count = len(receiver.received())
    time.sleep(0.7)
    assert len(receiver.received()) == count
    assert all(each["attempt_count"] >= 1 for each in found)


def test_a_redelivery_is_one_attempt_with_the_same_event_id(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    receiver.script("/hook", *[answers.status(500, b"")] * 4, answers.status(200))
    subscription_id, _ = harness.subscribe(receiver.url())
    [event_id] = harness.publish()
    harness.start_sender()
    first = harness.wait_for_status(subscription_id, "failed")
    metered = deliveries_metered(harness)
    with harness.runtime.db.writing() as session:
        again = deliveries.redeliver(session, subscription_id, first["id"])
    _, second = harness.wait_until(
        subscription_id, lambda found: len(found) == 2 and found[1]["status"] == "failed"
    )
    assert second["id"] == again.delivery_id
    assert second["trigger"] == "manual"
    assert second["attempt_count"] == 1
    assert receiver.received()[-1].headers["x-webhook-id"] == event_id
    assert harness.history(subscription_id)[0] == first
    assert deliveries_metered(harness) == metered == 1
    assert harness.subscription(subscription_id).failed_in_streak == 1


def test_both_secrets_sign_during_the_overlap(harness: WebhookHarness, receiver: Receiver) -> None:
    subscription_id, old = harness.subscribe(receiver.url())
    with harness.runtime.db.writing() as session:
        new = service.rotate_secret(session, harness.runtime.keyring, subscription_id, overlap_s=60)
    [event_id] = harness.publish()
    harness.start_sender()
    [request] = receiver.wait_for(1)
    stamp = request.headers["webhook-timestamp"]
    assert request.headers["webhook-signature"].split() == [
        standard_signature(secret, event_id, stamp, request.body)
        for secret in (new["signing_secret"], old)
    ]
    with harness.runtime.db.writing() as session:
        past = utc_now() - timedelta(seconds=1)
        session.execute(update(Subscription).values(previous_secret_expires_at=past))
    harness.publish()
    [_, request] = receiver.wait_for(2)
    assert len(request.headers["webhook-signature"].split()) == 1


def test_a_subscription_whose_every_delivery_fails_is_switched_off(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_retry_delays=(0.0, 0.0), webhook_deactivate_after_s=3600.0)
    receiver.script("/hook", answers.status(500, b""))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.start_sender()
    harness.publish()
    harness.wait_for_status(subscription_id, "failed")
    assert harness.subscription(subscription_id).active
    with harness.runtime.db.writing() as session:
        long_ago = utc_now() - timedelta(hours=2)
        session.execute(update(Subscription).values(failing_since=long_ago))
    harness.publish()
    harness.wait_until(subscription_id, lambda found: found[-1]["status"] == "failed")
    off = harness.subscription(subscription_id)
    assert not off.active
    assert off.deactivated_at is not None
    harness.change(subscription_id, active=True)
    on = harness.subscription(subscription_id)
    assert on.failing_since is None
    assert on.failed_in_streak == 0
    receiver.script("/hook", answers.status(200))
    harness.publish()
    harness.wait_until(subscription_id, lambda found: found[-1]["status"] == "succeeded")


def test_one_success_clears_the_streak_and_a_failed_test_does_not_start_one(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_retry_delays=(0.0, 0.0))
    receiver.script("/hook", *[answers.status(500, b"")] * 6, answers.status(200))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.start_sender()
    with harness.runtime.db.writing() as session:
        deliveries.send_test(session, subscription_id, None)
    harness.wait_for_status(subscription_id, "failed")
    assert harness.subscription(subscription_id).failing_since is None
    harness.publish()
    harness.wait_until(subscription_id, lambda found: found[-1]["status"] == "failed")
    assert harness.subscription(subscription_id).failing_since is not None
    harness.publish()
    harness.wait_until(subscription_id, lambda found: found[-1]["status"] == "succeeded")
    assert harness.subscription(subscription_id).failing_since is None


def test_deliveries_that_cannot_be_signed_wait_and_no_others(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    lost_key, _ = harness.subscribe(receiver.url("/lost"))
    spoiled, _ = harness.subscribe(receiver.url("/spoiled"))
    healthy, _ = harness.subscribe(receiver.url())
    with harness.runtime.db.writing() as session:
        kept = {each.id: each.secret for each in session.scalars(select(Subscription))}
    sealed = kept[lost_key].replace(harness.runtime.keyring.current_id, "gone")
    set_secrets(harness, {lost_key: sealed, spoiled: "no sealed secret"})
    harness.publish()
    sender = harness.start_sender()
    harness.wait_for_status(healthy, "succeeded")
    harness.wait_for_log("CQE_MASTER_KEYS")
    harness.wait_for_log(spoiled)
    for each in (lost_key, spoiled):
        assert harness.history(each)[0]["status"] == "pending"
    set_secrets(harness, kept)
    for each in (lost_key, spoiled):
        harness.wait_for_status(each, "succeeded")
    assert sender.process.poll() is None


def test_no_secret_is_stored_or_logged_in_plain_text(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, secret = harness.subscribe(receiver.url())
    harness.publish()
    sender = harness.start_sender()
    harness.wait_for_status(subscription_id, "succeeded")
    sender.stop()
    assert secret not in harness.log()
    if not harness.runtime.settings.database_url:
        kept = b"".join(
            file.read_bytes() for file in harness.runtime.settings.data_dir.glob("cqe.db*")
        )
        assert secret.encode() not in kept


def test_the_stored_bytes_of_the_body_are_sent(harness: WebhookHarness, receiver: Receiver) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    [event_id] = harness.publish()
    unusual = orjson.dumps({"id": event_id}) + b"   "
    with harness.runtime.db.writing() as session:
        from app.events.models import Event

        session.execute(update(Event).values(body=unusual))
        assert session.scalars(select(Delivery.state)).all() == ["pending"]
    harness.start_sender()
    [request] = receiver.wait_for(1)
    assert request.body == unusual
    harness.wait_for_status(subscription_id, "succeeded")


def test_drain_sends_what_is_due_and_ends(harness: WebhookHarness, receiver: Receiver) -> None:
    receiver.script("/bad", answers.status(500, b""))
    subscription_id, _ = harness.subscribe(receiver.url())
    failing_id, _ = harness.subscribe(receiver.url("/bad"))
    harness.publish(20)
    assert loop.drain(harness.runtime, within_s=60)
    assert {each["status"] for each in harness.history(subscription_id)} == {"succeeded"}
    assert {each["attempt_count"] for each in harness.history(failing_id)} <= {1, 2, 3}
    harness.publish()
    assert not loop.drain(harness.runtime, within_s=0)
