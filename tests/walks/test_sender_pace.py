"""Pace of the sender: how many requests are in flight, and how their results are recorded."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import func, select, update

from app.core.clock import utc_now
from app.core.outgoing_http.reply import AttemptOutcome, Reply
from app.webhooks.models import Attempt, Delivery, Subscription
from app.webhooks.sender.claims import Claim
from app.webhooks.sender.dispatch import AttemptResult
from app.webhooks.sender.receiver_queues import BEHIND_AFTER_S, MOST_IN_FLIGHT
from app.webhooks.sender.results import ResultWriter
from tests import receiver as answers
from tests.receiver import Receiver, Visit
from tests.webhook_harness import WebhookHarness

_ANSWER_AFTER_S = 0.03


def ended(claim: Claim, outcome: AttemptOutcome = AttemptOutcome.SUCCESS) -> AttemptResult:
    code = 200 if outcome == AttemptOutcome.SUCCESS else None
    return AttemptResult(claim, Reply(outcome, 5, status_code=code), utc_now(), utc_now())


def states(harness: WebhookHarness) -> dict[str, int]:
    with harness.runtime.db.reading() as session:
        counted = select(Delivery.state, func.count().label("number"))
        counted = counted.group_by(Delivery.state)
        return {row.state: row.number for row in session.execute(counted)}


def attempts(harness: WebhookHarness) -> int:
    with harness.runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(Attempt)) or 0


def test_a_receiver_that_keeps_up_gets_its_events_one_by_one_in_order(
    harness: WebhookHarness, receiver: Receiver
) -> None:
    receiver.script("/hook", answers.status(200, after_s=_ANSWER_AFTER_S))
    harness.subscribe(receiver.url())
    harness.start_sender()
    published = harness.publish()
    receiver.wait_for(1)
    # Few, so that no slow machine falls behind.
    published += harness.publish(10)
    found = receiver.wait_for(11)
    assert [each.event["id"] for each in found] == published
    assert all(after.at - before.at > _ANSWER_AFTER_S / 2 for before, after in pairwise(found))


def test_a_receiver_that_is_behind_gets_up_to_eight_requests_at_once(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=10.0)
    eight = threading.Barrier(MOST_IN_FLIGHT)

    def answer_with_seven_others(visit: Visit) -> bool:
        eight.wait(10)
        return answers.status(200)(visit)

    first_answers = [answers.status(200)] * 10
    receiver.script("/hook", *first_answers, answer_with_seven_others)
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish(len(first_answers) + MOST_IN_FLIGHT)
    with harness.runtime.db.writing() as session:
        long_ago = utc_now() - timedelta(seconds=BEHIND_AFTER_S * 2)
        session.execute(update(Delivery).values(due_at=long_ago))
    harness.start_sender()
    found = harness.wait_until(
        subscription_id, lambda found: all(each["status"] == "succeeded" for each in found)
    )
    assert {each["attempt_count"] for each in found} == {1}
    assert eight.broken is False


def test_a_receiver_that_fails_while_it_is_behind_gets_fewer_at_once(
    make_harness: Callable[..., WebhookHarness], receiver: Receiver
) -> None:
    harness = make_harness(webhook_timeout_s=10.0)
    at_once: list[int] = []
    running = 0
    lock = threading.Lock()

    def refuse(visit: Visit) -> bool:
        nonlocal running
        with lock:
            running += 1
            at_once.append(running)
        visit.pause(0.05)
        with lock:
            running -= 1
        return answers.status(503, b"")(visit)

    receiver.script("/hook", refuse)
    subscription_id, _ = harness.subscribe(receiver.url())
    harness.publish(12)
    with harness.runtime.db.writing() as session:
        long_ago = utc_now() - timedelta(seconds=BEHIND_AFTER_S * 2)
        session.execute(update(Delivery).values(due_at=long_ago))
    harness.start_sender()
    harness.wait_until(
        subscription_id, lambda found: all(each["status"] == "failed" for each in found)
    )
    assert max(at_once) == 1


def test_concurrent_threads_have_their_results_recorded(
    harness: WebhookHarness,
) -> None:
    harness.subscribe("https://example.com/")
    harness.publish(10)
    claimed = harness.claim(owner="this:1:1")
    noted: list[AttemptResult] = []
    writer = ResultWriter(harness.runtime.db, harness.runtime.settings, noted.extend)
    with ThreadPoolExecutor(10) as pool:
        recorded = list(pool.map(lambda claim: writer.record(ended(claim)), claimed))
    writer.close()
    assert recorded == [True] * 10
    assert states(harness) == {"succeeded": 10}
    assert attempts(harness) == len(noted) == 10


def test_a_closed_writer_records_nothing(harness: WebhookHarness) -> None:
    harness.subscribe("https://example.com/")
    harness.publish()
    [claimed] = harness.claim(owner="this:1:1")
    writer = ResultWriter(harness.runtime.db, harness.runtime.settings, lambda _: None)
    writer.close()
    assert writer.record(ended(claimed)) is False
    assert states(harness) == {"delivering": 1}


def test_a_result_that_cannot_be_written_releases_every_waiting_thread(
    harness: WebhookHarness,
) -> None:
    harness.subscribe("https://example.com/")
    harness.publish(10)
    claimed = harness.claim(owner="this:1:1")
    # A moment without a zone is refused: a defect of ours, which no second try would mend.
    broken = [
        AttemptResult(each.claim, each.reply, each.started_at, each.ended_at.replace(tzinfo=None))
        for each in map(ended, claimed)
    ]
    writer = ResultWriter(harness.runtime.db, harness.runtime.settings, lambda _: None)
    with ThreadPoolExecutor(10) as pool:
        futures = [pool.submit(writer.record, each) for each in broken]
    writer.close()
    failures = [each.exception() for each in futures]
    assert any(failures)
    assert not any(
        each.result() for each, failure in zip(futures, failures, strict=True) if not failure
    )
    assert states(harness) == {"delivering": 10}


@pytest.mark.parametrize("outcome", [AttemptOutcome.SUCCESS, AttemptOutcome.TIMEOUT])
def test_a_result_is_recorded_only_while_its_lease_is_held(
    harness: WebhookHarness, outcome: AttemptOutcome
) -> None:
    subscription_id, _ = harness.subscribe("https://example.com/")
    harness.publish(2)
    late, held = harness.claim(owner="this:1:1")
    with harness.runtime.db.writing() as session:
        taken_over = update(Delivery).where(Delivery.id == late.delivery_id)
        session.execute(taken_over.values(lease_token="another"))
        session.execute(update(Subscription).values(failing_since=utc_now(), failed_in_streak=1))
    noted: list[AttemptResult] = []
    writer = ResultWriter(harness.runtime.db, harness.runtime.settings, noted.extend)
    assert writer.record(ended(late, outcome))
    assert harness.subscription(subscription_id).failed_in_streak == 1
    assert writer.record(ended(held))
    writer.close()
    assert [each.claim for each in noted] == [held]
    assert states(harness) == {"delivering": 1, "succeeded": 1}
    assert attempts(harness) == 1
    assert harness.subscription(subscription_id).failed_in_streak == 0
    assert harness.subscription(subscription_id).failing_since is None
