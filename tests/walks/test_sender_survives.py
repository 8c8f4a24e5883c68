"""Sender under kills, with hanging receivers or without its queue server: nothing is lost."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from sqlalchemy import func, select

from app.core.clock import utc_now
from app.usage.models import UsageRecord
from app.webhooks.models import Delivery
from app.webhooks.sender.receiver_queues import BEHIND_AFTER_S, MOST_IN_FLIGHT
from tests import receiver as answers
from tests.queue_server import QueueServer, running_queue_server
from tests.receiver import Receiver
from tests.webhook_harness import WebhookHarness

pytestmark = pytest.mark.long

MakeHarness = Callable[..., WebhookHarness]


@pytest.fixture
def queue() -> Iterator[QueueServer]:
    with running_queue_server() as server:
        yield server


def test_a_kill_in_the_middle_sends_again_with_the_same_ids_and_number(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=5.0)
    receiver.script("/hook", answers.hang, answers.status(200))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    first = harness.start_sender()
    receiver.wait_for(1)
    [running] = harness.history(subscription_id)
    assert (running["status"], running["attempt_count"]) == ("delivering", 0)
    first.kill()
    harness.start_sender()
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    cut_off, again = receiver.received()
    for name in ("x-webhook-id", "x-webhook-delivery", "x-webhook-attempt", "x-webhook-signature"):
        assert cut_off.headers[name] == again.headers[name]
    assert again.headers["x-webhook-attempt"] == "1"
    assert delivery["attempt_count"] == len(delivery["attempts"]) == 1
    with harness.runtime.db.reading() as session:
        assert session.scalar(select(func.sum(UsageRecord.quantity))) == 1
        assert session.scalar(select(Delivery.interruptions)) == 1


def test_four_kills_lose_nothing(make_harness: MakeHarness, receiver: Receiver) -> None:
    harness = make_harness(webhook_timeout_s=5.0)
    receiver.script("/hook", answers.status(200, after_s=0.1))
    subscription_id, _ = harness.subscribe(receiver.url())
    published: list[str] = []
    for _ in range(4):
        sender = harness.start_sender()
        published += harness.publish(8)
        # Every answer takes a moment: the kill cuts off at least the one that came just now.
        receiver.wait_for(len(receiver.received()) + 3)
        sender.kill()
    harness.start_sender()
    found = harness.wait_until(
        subscription_id,
        lambda found: all(each["status"] == "succeeded" for each in found),
    )
    assert [each["event_id"] for each in found] == published
    assert {each.event["id"] for each in receiver.received()} == set(published)
    assert {each["attempt_count"] for each in found} == {1}
    with harness.runtime.db.reading() as session:
        assert session.scalar(select(func.sum(UsageRecord.quantity))) == len(published)
        assert (session.scalar(select(func.sum(Delivery.interruptions))) or 0) >= 4


@pytest.mark.sql
def test_two_senders_share_the_work_without_duplicates(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.start_sender()
    harness.start_sender()
    published = harness.publish(60)
    harness.wait_until(
        subscription_id, lambda found: all(each["status"] == "succeeded" for each in found)
    )
    assert sorted(each.event["id"] for each in receiver.received()) == sorted(published)


@pytest.mark.sql
def test_two_senders_keep_the_order_and_repeat_one_request_a_kill(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    kills = 4
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.start_sender()
    harness.start_sender()
    published = []
    for number in range(kills):
        published += harness.publish(25)
        receiver.wait_for(len(published) - 15)
        harness.start_sender()
        harness.senders[number].kill()
    harness.wait_until(
        subscription_id, lambda found: all(each["status"] == "succeeded" for each in found)
    )
    requests = receiver.received()
    received = list(dict.fromkeys(each.event["id"] for each in requests))
    assert sorted(received) == sorted(published)
    # On a machine that stands still the receiver is behind, and gets several requests at once.
    sent_at = [datetime.fromisoformat(each.event["timestamp"]).timestamp() for each in requests]
    waits = [each.at - at for each, at in zip(requests, sent_at, strict=True)]
    keeps_up = max(waits) < BEHIND_AFTER_S
    assert received == published or not keeps_up
    assert len(requests) <= len(published) + kills * (1 if keeps_up else MOST_IN_FLIGHT)


def test_a_stop_waits_for_requests_in_flight_and_releases_the_other_claims(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=30.0)
    receiver.script("/hook", answers.status(200, after_s=0.5))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish(10)
    sender = harness.start_sender()
    receiver.wait_for(1)
    assert sender.stop() == 0
    states = [each["status"] for each in harness.history(subscription_id)]
    assert states.count("succeeded") == len(receiver.received()) >= 1
    assert states.count("pending") == 10 - states.count("succeeded")
    assert harness.log() == ""


def test_ten_hanging_receivers_do_not_delay_a_healthy_one(
    make_harness: MakeHarness, receiver: Receiver, queue: QueueServer
) -> None:
    harness = make_harness(redis_url=queue.url)
    hanging = Receiver()
    for number in range(10):
        harness.subscribe(hanging.script(f"/{number}", answers.hang))
    healthy, _ = harness.subscribe(receiver.url())
    sent: dict[str, float] = {}
    harness.publish(3)
    harness.start_sender()
    receiver.wait_for(3)
    for _ in range(30):
        [event_id] = harness.publish()
        sent[event_id] = time.time()
        time.sleep(0.06)
    arrived = {each.event["id"]: each.at for each in receiver.wait_for(33)}
    delays = sorted(arrived[event_id] - at for event_id, at in sent.items())
    hanging.close()
    assert len(hanging.requests) >= 10
    assert delays[int(len(delays) * 0.95)] < 5, delays  # each of the ten hangs for ten seconds
    harness.wait_until(healthy, lambda found: {each["attempt_count"] for each in found} == {1})


def test_a_healthy_receiver_does_not_wait_for_those_of_deleted_subscriptions(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=10.0)
    hanging = Receiver()
    hanging.scripts["/hang"] = [answers.hang]
    harness.subscribe(receiver.url("/first"))
    harness.start_sender()
    harness.publish()
    receiver.wait_for(1, "/first")
    for generation in range(1, 4):
        ids = [harness.subscribe(hanging.url("/hang"))[0] for _ in range(40)]
        harness.publish()
        hanging.wait_for(40 * generation, "/hang")
        for each in ids:
            harness.delete(each)
    healthy, _ = harness.subscribe(receiver.url())
    published = dict.fromkeys(harness.publish(25), time.time())
    arrived = {each.event["id"]: each.at for each in receiver.wait_for(25)}
    hanging.close()
    delays = sorted(arrived[each] - at for each, at in published.items())
    assert delays[-1] < 5, delays  # those before hang for ten seconds
    harness.wait_until(healthy, lambda found: {each["status"] for each in found} == {"succeeded"})
    with harness.runtime.db.reading() as session:
        metered = select(UsageRecord.quantity).where(UsageRecord.operation == healthy)
        assert session.scalar(metered) == 25


def test_a_bell_wakes_a_sleeping_sender_at_once(
    make_harness: MakeHarness, receiver: Receiver, queue: QueueServer
) -> None:
    harness = make_harness(redis_url=queue.url)
    harness.subscribe(receiver.url())
    harness.publish()
    harness.start_sender()
    receiver.wait_for(1)
    delays: list[float] = []
    # Asleep, it looks by itself once a second. A busy machine may be slow once or several times.
    while sum(delay < 0.5 for delay in delays) < 2:
        assert len(delays) < 30, delays
        time.sleep(1.1)
        harness.publish()
        published = time.time()
        delays.append(receiver.wait_for(2 + len(delays))[-1].at - published)


@pytest.mark.parametrize("how", ["killed", "flushed", "absent"])
def test_without_the_queue_server_the_tick_delivers(
    make_harness: MakeHarness, receiver: Receiver, queue: QueueServer, how: str
) -> None:
    harness = make_harness(redis_url="none" if how == "absent" else queue.url)
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.start_sender()
    harness.publish()
    receiver.wait_for(1)
    if how == "killed":
        queue.stop()
    elif how == "flushed":
        with queue.client() as client:
            client.flushall()
    published = harness.publish(5)
    receiver.wait_for(6)
    found = harness.wait_until(
        subscription_id, lambda found: all(each["status"] == "succeeded" for each in found)
    )
    assert [each["event_id"] for each in found[1:]] == published


@pytest.mark.sql
def test_a_sender_that_lost_its_lease_records_nothing(
    make_harness: MakeHarness, receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=5.0)
    receiver.script("/hook", answers.status(200, after_s=0.3))
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish()
    harness.start_sender()
    receiver.wait_for(1)
    with harness.runtime.db.writing() as session:
        row = session.scalars(select(Delivery)).one()
        row.lease_token = "another"
        row.lease_owner = "elsewhere:1:1"
        row.lease_until = utc_now()
    delivery = harness.wait_for_status(subscription_id, "succeeded")
    # The first answer came too late for its lease; the delivery was reclaimed and sent again.
    assert len(receiver.received()) == 2
    assert delivery["attempt_count"] == 1


def test_an_answer_with_an_absurd_date_does_not_end_the_sender(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    absurd = "Retry-After: Sat, 21 Nov 9999999999 12:00:00 GMT"
    receiver.script("/hook", answers.status(503, b"", absurd), answers.status(200))
    subscription_id, _ = harness.subscribe(receiver.url())
    sender = harness.start_sender()
    harness.publish()
    harness.wait_for_status(subscription_id, "succeeded")
    assert sender.process.poll() is None
