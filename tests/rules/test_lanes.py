"""Who may send now: no receiver takes another's turn."""

from dataclasses import replace

import pytest
import time_machine

from app.core.exchange import Outcome
from app.core.outbound import Reply
from app.webhooks import lanes as module
from app.webhooks.claims import Claim, Receiver
from app.webhooks.lanes import BEHIND_S, Lanes

QUICK = Reply(Outcome.SUCCESS, 5, status_code=200)
HUNG = Reply(Outcome.TIMEOUT, 10_000)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def receiver(name: str) -> Receiver:
    return Receiver(name, "https://example.com/", 1, True, "", None, None, None)


def claims(name: str, count: int, *, first: int = 0) -> list[Claim]:
    return [
        Claim(
            delivery_id=f"{name}{number}",
            event_id="evt",
            token="token",
            attempt=1,
            max_attempts=3,
            trigger="event",
            body=b"{}",
            receiver=receiver(name),
            taken_at=module.time.monotonic(),
            metered=True,
        )
        for number in range(first, first + count)
    ]


def wanted(lanes: Lanes, name: str, *, behind: bool = False) -> int:
    return lanes.wanted(name, overdue_s=BEHIND_S + 1 if behind else 0)


def prove(lanes: Lanes, name: str, reply: Reply = QUICK, times: int = 1) -> None:
    """Let a receiver answer."""
    for number in range(times):
        [claim] = claims(f"{name}", 1, first=9000 + number)
        lanes.add([claim])
        assert claim in lanes.depart()
        lanes.arrive(claim, reply)


def test_a_receiver_that_never_answered_has_one_seat() -> None:
    lanes = Lanes()
    lanes.add(claims("a", 10))
    assert len(lanes.depart()) == 1
    assert wanted(lanes, "a", behind=True) == 0


def test_a_receiver_that_keeps_up_has_one_seat() -> None:
    lanes = Lanes()
    prove(lanes, "a")
    wanted(lanes, "a")
    lanes.add(claims("a", 10))
    assert len(lanes.depart()) == 1


def test_a_receiver_that_fell_behind_has_four_until_it_has_caught_up() -> None:
    lanes = Lanes()
    prove(lanes, "a")
    wanted(lanes, "a", behind=True)
    lanes.add(claims("a", 10))
    started = lanes.depart()
    assert len(started) == 4
    wanted(lanes, "a")
    assert [lanes.arrive(each, QUICK)[0] for each in started[:3]] == [None, None, None]
    assert lanes.arrive(started[3], QUICK)[0] is not None


def test_every_receiver_has_a_seat_beside_fifty_that_hang() -> None:
    lanes = Lanes()
    names = [f"h{number}-" for number in range(49)]
    for name in names:
        prove(lanes, name)
        wanted(lanes, name, behind=True)
    for name in names:
        lanes.add(claims(name, 10))
    assert len(lanes.depart()) == 49 + module.SHARED_SEATS
    lanes.add(claims("healthy", 10))
    assert [each.receiver.id for each in lanes.depart()] == ["healthy"]


def test_slow_receivers_hold_at_most_half_of_the_shared_seats(clock: Clock) -> None:
    lanes = Lanes()
    names = [f"s{number}-" for number in range(20)]
    for name in names:
        prove(lanes, name, Reply(Outcome.SUCCESS, 9000, status_code=200))
        wanted(lanes, name, behind=True)
    for name in names:
        lanes.add(claims(name, 10))
    assert len(lanes.depart()) == 20 + module.SHARED_SEATS // 2
    prove(lanes, "quick")
    wanted(lanes, "quick", behind=True)
    lanes.add(claims("quick", 10))
    assert len(lanes.depart()) == 4


def test_three_failures_in_a_row_close_all_seats_but_one() -> None:
    lanes = Lanes()
    prove(lanes, "a")
    prove(lanes, "a", HUNG, times=3)
    wanted(lanes, "a", behind=True)
    lanes.add(claims("a", 10))
    assert len(lanes.depart()) == 1


def test_an_answer_opens_them_again() -> None:
    lanes = Lanes()
    prove(lanes, "a", HUNG, times=5)
    prove(lanes, "a", Reply(Outcome.HTTP_ERROR, 5, status_code=500))
    wanted(lanes, "a", behind=True)
    lanes.add(claims("a", 10))
    assert len(lanes.depart()) == 4


def test_an_ended_attempt_gives_its_seat_to_the_next() -> None:
    lanes = Lanes()
    prove(lanes, "a")
    lanes.add(claims("a", 6))
    [first] = lanes.depart()
    following, _ = lanes.arrive(first, QUICK)
    assert following is not None
    assert lanes.on_the_way() == [following]


def test_only_a_quick_receiver_has_claims_ahead() -> None:
    lanes = Lanes()
    prove(lanes, "quick", times=5)
    prove(lanes, "slow", Reply(Outcome.SUCCESS, 500, status_code=200), times=5)
    assert wanted(lanes, "quick") > 4
    assert wanted(lanes, "slow") == 1


def test_a_lane_asks_for_more_once_when_half_of_its_claims_are_left() -> None:
    lanes = Lanes()
    prove(lanes, "a", times=20)
    number = wanted(lanes, "a")
    lanes.add(claims("a", number))
    [claim] = lanes.depart()
    asked = []
    while True:
        following, asks = lanes.arrive(claim, QUICK)
        asked.append(asks)
        if following is None:
            break
        claim = following
    assert asked.count(True) == 1
    assert asked.index(True) == pytest.approx(number / 2, abs=2)
    assert wanted(lanes, "a") == number


def test_claims_that_wait_too_long_are_handed_back(clock: Clock) -> None:
    lanes = Lanes()
    lanes.add(claims("a", 3))
    lanes.depart()
    clock.now += 5
    lanes.add(claims("a", 2, first=3))
    assert lanes.recall({"a": 1}) == []
    clock.now += 0.1
    assert [each.delivery_id for each in lanes.recall({"a": 1})] == ["a1", "a2"]
    assert len(lanes.held()) == 3


def test_claims_that_wait_too_long_never_leave_though_their_receiver_answers(clock: Clock) -> None:
    lanes = Lanes()
    prove(lanes, "a", times=20)
    lanes.add(claims("a", wanted(lanes, "a")))
    following: Claim | None
    [following] = lanes.depart()
    sent = 0
    while following is not None:
        clock.now += 0.9
        following, _ = lanes.arrive(following, Reply(Outcome.SUCCESS, 900, status_code=200))
        sent += 1
    assert sent == 6
    assert lanes.depart() == []


def test_claims_of_a_changed_or_deleted_receiver_are_handed_back() -> None:
    lanes = Lanes()
    lanes.add(claims("a", 3))
    lanes.add(
        [replace(each, receiver=replace(receiver("b"), version=2)) for each in claims("b", 2)]
    )
    assert lanes.recall({"a": 1, "b": 2}) == []
    assert len(lanes.recall({"a": 2, "b": 2})) == 3
    assert len(lanes.recall({})) == 2


def test_an_idle_lane_of_a_receiver_that_is_gone_is_forgotten() -> None:
    lanes = Lanes()
    prove(lanes, "a")
    lanes.forget_others([])
    assert wanted(lanes, "a") == 1


def test_the_clock_of_lanes_does_not_follow_the_wall() -> None:
    lanes = Lanes()
    lanes.add(claims("a", 1))
    with time_machine.travel("2031-01-01", tick=False):
        assert lanes.recall({"a": 1}) == []
