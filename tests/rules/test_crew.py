"""Threads that work through one pile: all of it is done, slow work holds up nothing, errors are told."""

import threading
from collections import deque

import pytest

from app.core.crew import Turn, work_through


@pytest.mark.parametrize("at_once", [1, 3])
def test_everything_is_taken_once(at_once: int) -> None:
    pile, done = deque(range(50)), []

    def take_one() -> bool:
        try:
            done.append(pile.popleft())
        except IndexError:
            return False
        return True

    work_through(take_one, at_once=at_once)
    assert sorted(done) == list(range(50))


def test_what_comes_in_meanwhile_does_not_wait_for_the_slowest() -> None:
    pile, quick_is_done = deque(["slow"]), threading.Event()

    def take_one() -> bool:
        try:
            piece = pile.popleft()
        except IndexError:
            return False
        if piece == "slow":
            pile.append("quick")
            assert quick_is_done.wait(30)
        else:
            quick_is_done.set()
        return True

    work_through(take_one, at_once=2)
    assert quick_is_done.is_set()


def test_an_error_is_raised_when_all_have_ended() -> None:
    def take_one() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work_through(take_one, at_once=3)


def test_a_turn_that_was_ended_lets_the_next_one_in_and_takes_nothing_from_it() -> None:
    lock = threading.Lock()
    with Turn(lock) as first:
        assert lock.locked()
        first.end()
        with Turn(lock):
            first.end()
            assert lock.locked()
    assert not lock.locked()
