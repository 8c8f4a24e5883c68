"""Receiver queues: which claims may start, how many at once, and which are withdrawn."""

import time
from dataclasses import replace

import pytest
import time_machine

from app.core.outgoing_http.reply import AttemptOutcome, Reply
from app.webhooks.sender.claims import Claim, Receiver
from app.webhooks.sender.receiver_queues import (
    BEHIND_AFTER_S,
    MOST_IN_FLIGHT,
    SHARED_SLOTS,
    ReceiverQueues,
)

QUICK = Reply(AttemptOutcome.SUCCESS, 5, status_code=200)
SLOW = Reply(AttemptOutcome.SUCCESS, 9000, status_code=200)
BROKEN = Reply(AttemptOutcome.HTTP_ERROR, 5, status_code=500)
HUNG = Reply(AttemptOutcome.TIMEOUT, 10_000)
BEHIND = BEHIND_AFTER_S + 1


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queues(clock: Clock) -> ReceiverQueues:
    return ReceiverQueues(clock)


def receiver(name: str) -> Receiver:
    return Receiver(name, "https://example.com/", 1, True, "", None, None, None)


def claims(name: str, count: int, *, first: int = 0, claimed_at: float = 1000.0) -> list[Claim]:
    return [
        Claim(
            delivery_id=f"{name}{number}",
            event_id="evt",
            lease_token="token",
            attempt=1,
            max_attempts=3,
            trigger="event",
            body=b"{}",
            receiver=receiver(name),
            claimed_at=claimed_at,
            metered=True,
            traceparent=None,
        )
        for number in range(first, first + count)
    ]


def answer(queues: ReceiverQueues, name: str, reply: Reply = QUICK, times: int = 1) -> None:
    """Let a receiver answer one request after the other."""
    for number in range(times):
        [claim] = claims(name, 1, first=9000 + number)
        queues.add([claim])
        assert claim in queues.start()
        queues.finish(claim, reply)


def in_flight_after(queues: ReceiverQueues, name: str, *replies: Reply) -> int:
    """Return how many requests a receiver that is behind gets at once after these replies."""
    queues.room_for(name, overdue_s=BEHIND)
    for reply in replies:
        answer(queues, name, reply)
    queues.add(claims(name, 20))
    return len(queues.start())


def test_a_receiver_that_keeps_up_gets_one_request_at_a_time(queues: ReceiverQueues) -> None:
    answer(queues, "a", times=20)
    queues.room_for("a", overdue_s=BEHIND_AFTER_S - 1)
    queues.add(claims("a", 10))
    assert len(queues.start()) == 1


@pytest.mark.parametrize("successes", range(10))
def test_a_receiver_that_is_behind_gets_one_more_slot_with_each_success_up_to_eight(
    queues: ReceiverQueues, successes: int
) -> None:
    expected = min(1 + successes, MOST_IN_FLIGHT)
    assert in_flight_after(queues, "a", *[QUICK] * successes) == expected
    assert MOST_IN_FLIGHT == 8


@pytest.mark.parametrize("failure", [BROKEN, HUNG])
def test_each_failure_halves_the_slots(queues: ReceiverQueues, failure: Reply) -> None:
    assert in_flight_after(queues, "a", *[QUICK] * 7, failure) == 4
    assert in_flight_after(queues, "b", *[QUICK] * 7, failure, failure) == 2
    assert in_flight_after(queues, "c", *[QUICK] * 7, *[failure] * 5) == 1


def test_a_failure_within_the_service_says_nothing_of_the_receiver(queues: ReceiverQueues) -> None:
    queues.room_for("a", overdue_s=BEHIND)
    answer(queues, "a", times=7)
    queues.add(claims("a", 20))
    failed, *others = queues.start()
    following, _ = queues.finish(failed, None)
    assert following is not None
    assert len(queues.in_flight()) == len(others) + 1 == 8


def test_a_receiver_is_behind_until_it_has_caught_up_to_within_a_second(
    queues: ReceiverQueues,
) -> None:
    queues.room_for("a", overdue_s=BEHIND)
    answer(queues, "a", times=10)
    queues.room_for("a", overdue_s=2)
    queues.add(claims("a", 30))
    started = queues.start()
    assert len(started) == 8
    queues.room_for("a", overdue_s=0.5)
    assert [queues.finish(claim, QUICK)[0] for claim in started[:7]] == [None] * 7
    assert queues.finish(started[7], QUICK)[0] is not None


def test_every_receiver_has_a_slot_beside_fifty_that_hang(queues: ReceiverQueues) -> None:
    names = [f"h{number}-" for number in range(49)]
    for name in names:
        queues.room_for(name, overdue_s=BEHIND)
        answer(queues, name, times=7)
    for name in names:
        queues.add(claims(name, 10))
    assert len(queues.start()) == 49 + SHARED_SLOTS
    queues.add(claims("healthy", 10))
    assert [claim.receiver.id for claim in queues.start()] == ["healthy"]


def test_slow_receivers_get_at_most_half_of_the_shared_slots(queues: ReceiverQueues) -> None:
    names = [f"s{number}-" for number in range(20)]
    for name in names:
        queues.room_for(name, overdue_s=BEHIND)
        answer(queues, name, SLOW, times=7)
    for name in names:
        queues.add(claims(name, 10))
    assert len(queues.start()) == 20 + SHARED_SLOTS // 2
    assert in_flight_after(queues, "quick", *[QUICK] * 7) == 8


def test_an_ended_attempt_frees_its_slot_for_the_next(queues: ReceiverQueues) -> None:
    answer(queues, "a")
    queues.add(claims("a", 6))
    [first] = queues.start()
    following, _ = queues.finish(first, QUICK)
    assert following is not None
    assert queues.in_flight() == [following]


@pytest.mark.parametrize(
    ("duration_ms", "expected"), [(10, 101), (100, 11), (400, 3), (1000, 2), (2000, 1)]
)
def test_a_queue_holds_what_its_receiver_answers_in_a_second(
    queues: ReceiverQueues, duration_ms: int, expected: int
) -> None:
    answer(queues, "a", Reply(AttemptOutcome.SUCCESS, duration_ms, status_code=200))
    assert queues.room_for("a", overdue_s=0) == expected


def test_a_receiver_that_never_answered_gets_one_claim(queues: ReceiverQueues) -> None:
    assert queues.room_for("a", overdue_s=BEHIND) == 1


def test_a_queue_asks_for_more_once_when_half_of_its_claims_are_left(
    queues: ReceiverQueues,
) -> None:
    answer(queues, "a", times=20)
    number = queues.room_for("a", overdue_s=0)
    queues.add(claims("a", number))
    [claim] = queues.start()
    asked = []
    while True:
        following, asks = queues.finish(claim, QUICK)
        asked.append(asks)
        if following is None:
            break
        claim = following
    assert asked.count(True) == 1
    assert asked.index(True) == pytest.approx(number / 2, abs=2)
    assert queues.room_for("a", overdue_s=0) == number


def test_claims_that_waited_too_long_are_withdrawn(queues: ReceiverQueues, clock: Clock) -> None:
    queues.add(claims("a", 3))
    queues.start()
    clock.now += 5
    queues.add(claims("a", 2, first=3, claimed_at=clock.now))
    assert queues.withdraw({"a": 1}) == []
    clock.now += 0.1
    assert [claim.delivery_id for claim in queues.withdraw({"a": 1})] == ["a1", "a2"]
    assert len(queues.delivery_ids()) == 3


def test_claims_that_waited_too_long_never_start_though_their_receiver_answers(
    queues: ReceiverQueues, clock: Clock
) -> None:
    answer(queues, "a", times=20)
    queues.add(claims("a", queues.room_for("a", overdue_s=0)))
    following: Claim | None
    [following] = queues.start()
    sent = 0
    while following is not None:
        clock.now += 0.9
        following, _ = queues.finish(following, Reply(AttemptOutcome.SUCCESS, 900, status_code=200))
        sent += 1
    assert sent == 6
    assert queues.start() == []


def test_claims_of_a_changed_or_deleted_receiver_are_withdrawn(queues: ReceiverQueues) -> None:
    queues.add(claims("a", 3))
    queues.add(
        [replace(claim, receiver=replace(receiver("b"), version=2)) for claim in claims("b", 2)]
    )
    assert queues.withdraw({"a": 1, "b": 2}) == []
    assert len(queues.withdraw({"a": 2, "b": 2})) == 3
    assert len(queues.withdraw({})) == 2


def test_an_empty_queue_of_a_receiver_that_is_gone_is_forgotten(queues: ReceiverQueues) -> None:
    answer(queues, "a")
    queues.forget_others([])
    assert queues.room_for("a", overdue_s=0) == 1


def test_the_age_of_a_claim_does_not_follow_the_wall_clock() -> None:
    queues = ReceiverQueues()
    queues.add(claims("a", 1, claimed_at=time.monotonic()))
    with time_machine.travel("2031-01-01", tick=False):
        assert queues.withdraw({"a": 1}) == []
