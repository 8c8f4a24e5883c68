"""Thread pool for jobs that mostly wait, such as for the answers of a language model."""

import threading
from collections.abc import Callable

from app.core.process import stopping

_LOOK_AGAIN_S = 1.0


def run_in_threads(run_one: Callable[[], bool], *, at_once: int) -> None:
    """Call `run_one` until no job is left, or the process has to stop.

    A thread without a job looks again every second while another is busy, so that new jobs do not
    wait for the slowest one. An error in one thread is raised here when all have ended.

    Args:
        run_one: does one job; False if none was waiting.
        at_once: the number of threads; 1 runs in the calling thread.
    """
    if at_once == 1:
        while not stopping.requested() and run_one():
            pass
        return
    pool = _ThreadPool(run_one)
    threads = [
        threading.Thread(target=pool.work, name=f"job thread {number}") for number in range(at_once)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if pool.errors:
        raise pool.errors[0]


class TryLock:
    """A lock that one thread holds from `acquire` to its first `release`.

    Non-blocking: a waiting thread would count as busy and the pool would never finish.
    """

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._is_held = False

    def acquire(self) -> bool:
        """Take the lock; False when another thread holds it."""
        self._is_held = self._lock.acquire(blocking=False)
        return self._is_held

    def release(self) -> None:
        """Free the lock; a second call does nothing."""
        if self._is_held:
            self._is_held = False
            self._lock.release()


class _ThreadPool:
    def __init__(self, run_one: Callable[[], bool]) -> None:
        self.errors: list[Exception] = []
        self._run_one = run_one
        self._busy = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        while not stopping.requested() and not self.errors:
            if not self._ran_one() and not self._others_are_busy():
                return

    def _ran_one(self) -> bool:
        with self._changed:
            self._busy += 1
        try:
            return self._run_one()
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits for all
            self.errors.append(error)
            return False
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _others_are_busy(self) -> bool:
        """Wait a moment; False when no thread is busy any more."""
        with self._changed:
            if self._busy:
                self._changed.wait(_LOOK_AGAIN_S)
            return self._busy > 0
