"""Threads that work through one pile: all of it is done, slow work holds up nothing, errors are told."""

import threading
from collections import deque

import pytest

from app.core.jobs.thread_pool import TryLock, run_in_threads


@pytest.mark.parametrize("at_once", [1, 3])
def test_everything_is_taken_once(at_once: int) -> None:
    pile, done = deque(range(50)), []

    def take_one() -> bool:
        try:
            done.append(pile.popleft())
        except IndexError:
            return False
        return True

    run_in_threads(take_one, at_once=at_once)
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

    run_in_threads(take_one, at_once=2)
    assert quick_is_done.is_set()


def test_an_error_is_raised_when_all_have_ended() -> None:
    def take_one() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_in_threads(take_one, at_once=3)


def test_a_released_lock_can_be_taken_and_is_not_released_twice() -> None:
    lock = threading.Lock()
    first, second = TryLock(lock), TryLock(lock)
    assert first.acquire()
    assert not second.acquire()
    second.release()
    assert lock.locked()
    first.release()
    assert second.acquire()
    first.release()
    assert lock.locked()


def test_a_pool_whose_jobs_share_a_lock_does_everything_and_ends() -> None:
    waiting, done, lock = deque(range(50)), [], threading.Lock()

    def run_one() -> bool:
        shared = TryLock(lock)
        try:
            if not shared.acquire() or not waiting:
                return False
            job = waiting.popleft()
            shared.release()
            done.append(job)
            return True
        finally:
            shared.release()

    pool = threading.Thread(target=run_in_threads, args=(run_one,), kwargs={"at_once": 4})
    pool.start()
    pool.join(60)
    assert not pool.is_alive()
    assert sorted(done) == list(range(50))
