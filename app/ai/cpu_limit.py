"""Limit on the processor time that the rules may take for one evaluation."""

import time


class CpuLimitExceeded(Exception):
    """An evaluation needs more processor time than the settings allow."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(
            f"This evaluation needs more than {limit_s:g} s of processor time. "
            "Use a scorecard with fewer criteria and phrases."
        )


class CpuLimit:
    """Processor time of the current thread, counted from the creation of this object."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._begun, self._begun_wall = time.thread_time(), time.monotonic()

    def check(self) -> None:
        """Raise `CpuLimitExceeded` when the time is used up."""
        # A thread takes no more processor time than time passes, and the clock is far cheaper to read.
        if time.monotonic() - self._begun_wall <= self._limit_s:
            return
        if time.thread_time() - self._begun > self._limit_s:
            raise CpuLimitExceeded(self._limit_s)
