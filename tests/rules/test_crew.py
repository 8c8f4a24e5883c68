"""Threads that work through one pile: all of it is done, slow work holds up nothing, errors are told."""

import threading
from collections import deque

import pytest

from app.core.jobs.thread_pool import Turn, work_through


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
    first, second = Turn(lock), Turn(lock)
    assert first.begin()
    assert not second.begin()
    second.end()
    assert lock.locked()
    first.end()
    assert second.begin()
    first.end()
    assert lock.locked()


def test_a_crew_that_takes_turns_does_everything_and_ends() -> None:
    pile, done, lock = deque(range(50)), [], threading.Lock()

    def take_one() -> bool:
        turn = Turn(lock)
        try:
            if not turn.begin() or not pile:
                return False
            piece = pile.popleft()
            turn.end()
            done.append(piece)
            return True
        finally:
            turn.end()

    crew = threading.Thread(target=work_through, args=(take_one,), kwargs={"at_once": 4})
    crew.start()
    crew.join(60)
    assert not crew.is_alive()
    assert sorted(done) == list(range(50))
