"""How many requests are on their way at once, and how their results reach the tables."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import func, select, update

from app.core.clock import utc_now
from app.core.exchange import Outcome
from app.core.outbound import Reply
from app.webhooks.claims import Claim
from app.webhooks.ledger import Ledger
from app.webhooks.models import Attempt, Delivery, Subscription
from app.webhooks.receiver_queues import BEHIND_AFTER_S, MOST_IN_FLIGHT
from app.webhooks.results import Result
from tests import receiver as answers
from tests.receiver import Receiver, Visit
from tests.sending import Desk

_ANSWER_AFTER_S = 0.03


def ended(claim: Claim, outcome: Outcome = Outcome.SUCCESS) -> Result:
    code = 200 if outcome == Outcome.SUCCESS else None
    return Result(claim, Reply(outcome, 5, status_code=code), utc_now(), utc_now())


def states(desk: Desk) -> dict[str, int]:
    with desk.parts.db.reading() as session:
        counted = select(Delivery.state, func.count().label("number"))
        counted = counted.group_by(Delivery.state)
        return {row.state: row.number for row in session.execute(counted)}


def attempts(desk: Desk) -> int:
    with desk.parts.db.reading() as session:
        return session.scalar(select(func.count()).select_from(Attempt)) or 0


def test_a_receiver_that_keeps_up_gets_one_request_after_the_other_in_their_order(
    desk: Desk, receiver: Receiver
) -> None:
    receiver.script("/hook", answers.status(200, after_s=_ANSWER_AFTER_S))
    desk.subscribe(receiver.url())
    desk.start_sender()
    published = desk.publish()
    receiver.wait_for(1)
    published += desk.publish(30)
    found = receiver.wait_for(31)
    assert [each.event["id"] for each in found] == published
    assert all(after.at - before.at > _ANSWER_AFTER_S / 2 for before, after in pairwise(found))


def test_a_receiver_that_is_behind_gets_up_to_eight_requests_at_once(
    make_desk: Callable[..., Desk], receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=10.0)
    eight = threading.Barrier(MOST_IN_FLIGHT)

    def answer_with_seven_others(visit: Visit) -> bool:
        eight.wait(10)
        return answers.status(200)(visit)

    first_answers = [answers.status(200)] * 10
    receiver.script("/hook", *first_answers, answer_with_seven_others)
    subscription_id, _ = desk.subscribe(receiver.url())
    desk.publish(len(first_answers) + MOST_IN_FLIGHT)
    with desk.parts.db.writing() as session:
        long_ago = utc_now() - timedelta(seconds=BEHIND_AFTER_S * 2)
        session.execute(update(Delivery).values(due_at=long_ago))
    desk.start_sender()
    found = desk.wait_until(
        subscription_id, lambda found: all(each["status"] == "succeeded" for each in found)
    )
    assert {each["attempt_count"] for each in found} == {1}
    assert eight.broken is False


def test_a_receiver_that_fails_while_it_is_behind_gets_fewer_at_once(
    make_desk: Callable[..., Desk], receiver: Receiver
) -> None:
    desk = make_desk(webhook_timeout_s=10.0)
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
    subscription_id, _ = desk.subscribe(receiver.url())
    desk.publish(12)
    with desk.parts.db.writing() as session:
        long_ago = utc_now() - timedelta(seconds=BEHIND_AFTER_S * 2)
        session.execute(update(Delivery).values(due_at=long_ago))
    desk.start_sender()
    desk.wait_until(
        subscription_id, lambda found: all(each["status"] == "failed" for each in found)
    )
    assert max(at_once) == 1


def test_threads_that_record_at_once_all_find_their_results_written(desk: Desk) -> None:
    desk.subscribe("https://example.com/")
    desk.publish(10)
    claimed = desk.claim(holder="this:1:1")
    noted: list[Result] = []
    ledger = Ledger(desk.parts.db, desk.parts.settings, noted.extend)
    with ThreadPoolExecutor(10) as pool:
        recorded = list(pool.map(lambda claim: ledger.record(ended(claim)), claimed))
    ledger.close()
    assert recorded == [True] * 10
    assert states(desk) == {"succeeded": 10}
    assert attempts(desk) == len(noted) == 10


def test_a_closed_ledger_records_nothing(desk: Desk) -> None:
    desk.subscribe("https://example.com/")
    desk.publish()
    [claimed] = desk.claim(holder="this:1:1")
    ledger = Ledger(desk.parts.db, desk.parts.settings, lambda _: None)
    ledger.close()
    assert ledger.record(ended(claimed)) is False
    assert states(desk) == {"delivering": 1}


def test_a_result_that_cannot_be_written_frees_every_thread_that_waits(desk: Desk) -> None:
    desk.subscribe("https://example.com/")
    desk.publish(10)
    claimed = desk.claim(holder="this:1:1")
    # A moment without a zone is refused: a defect of ours, which no second try would mend.
    broken = [
        Result(each.claim, each.reply, each.started_at, each.ended_at.replace(tzinfo=None))
        for each in map(ended, claimed)
    ]
    ledger = Ledger(desk.parts.db, desk.parts.settings, lambda _: None)
    with ThreadPoolExecutor(10) as pool:
        futures = [pool.submit(ledger.record, each) for each in broken]
    ledger.close()
    failures = [each.exception() for each in futures]
    assert any(failures)
    assert not any(
        each.result() for each, failure in zip(futures, failures, strict=True) if not failure
    )
    assert states(desk) == {"delivering": 10}


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.TIMEOUT])
def test_late_results_and_those_of_others_settle_nothing(desk: Desk, outcome: Outcome) -> None:
    subscription_id, _ = desk.subscribe("https://example.com/")
    desk.publish(2)
    late, held = desk.claim(holder="this:1:1")
    with desk.parts.db.writing() as session:
        taken_over = update(Delivery).where(Delivery.id == late.delivery_id)
        session.execute(taken_over.values(lease_token="another"))
        session.execute(update(Subscription).values(failing_since=utc_now(), failed_in_streak=1))
    noted: list[Result] = []
    ledger = Ledger(desk.parts.db, desk.parts.settings, noted.extend)
    assert ledger.record(ended(late, outcome))
    assert desk.subscription(subscription_id).failed_in_streak == 1
    assert ledger.record(ended(held))
    ledger.close()
    assert [each.claim for each in noted] == [held]
    assert states(desk) == {"delivering": 1, "succeeded": 1}
    assert attempts(desk) == 1
    assert desk.subscription(subscription_id).failed_in_streak == 0
    assert desk.subscription(subscription_id).failing_since is None
