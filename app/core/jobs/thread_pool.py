"""Threads that work through one pile together, for work that mostly waits for somebody else."""

import threading
from collections.abc import Callable

from app.core.process import stopping

_LOOK_AGAIN_S = 1.0


def work_through(take_one: Callable[[], bool], *, at_once: int) -> None:
    """Call `take_one` until nothing is left to take, or the process has to stop.

    Who finds nothing looks again every second as long as another is still at work, so that what
    comes in meanwhile does not wait for the slowest. An error in one thread is raised here when
    all have ended.

    Args:
        take_one: does one piece of work; False when there was none.
        at_once: how many threads; 1 means this one alone.
    """
    if at_once == 1:
        while not stopping.requested() and take_one():
            pass
        return
    crew = _Crew(take_one)
    threads = [
        threading.Thread(target=crew.work, name=f"crew {number}") for number in range(at_once)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if crew.errors:
        raise crew.errors[0]


class Turn:
    """Holds a lock from `begin` to the first `end`: one of a crew at a time does what goes first.

    Nobody waits for it: who waited would count as being at work, and the crew would never end.
    """

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._is_held = False

    def begin(self) -> bool:
        """Take the lock; False when another has it."""
        self._is_held = self._lock.acquire(blocking=False)
        return self._is_held

    def end(self) -> None:
        """Let the next one in."""
        if self._is_held:
            self._is_held = False
            self._lock.release()


class _Crew:
    def __init__(self, take_one: Callable[[], bool]) -> None:
        self.errors: list[Exception] = []
        self._take_one = take_one
        self._busy = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        while not stopping.requested() and not self.errors:
            if not self._took_one() and not self._others_are_busy():
                return

    def _took_one(self) -> bool:
        with self._changed:
            self._busy += 1
        try:
            return self._take_one()
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits for all
            self.errors.append(error)
            return False
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _others_are_busy(self) -> bool:
        """Wait a moment; False when nobody is at work any more."""
        with self._changed:
            if self._busy:
                self._changed.wait(_LOOK_AGAIN_S)
            return self._busy > 0
