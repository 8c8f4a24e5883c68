"""Output file of the decoding process."""

import os
import resource

from app.ai.speech.decoding.limits import DecodingLimits

_STEP_BYTES = 1 << 20


class SpoolFull(Exception):
    """Too little disk space is free to store more sound."""


class Spool:
    """Writes sound while the disk has room, and raises the limit of processor time with it."""

    def __init__(self, descriptor: int, limits: DecodingLimits) -> None:
        self._descriptor = descriptor
        self._limits = limits
        self._written = 0
        self._next_check = _STEP_BYTES
        self._check()

    def write(self, samples: bytes) -> None:
        """Append samples; raises `SpoolFull`."""
        unwritten = memoryview(samples)
        while unwritten:
            unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        self._written += len(samples)
        if self._written >= self._next_check:
            self._next_check = self._written + _STEP_BYTES
            self._check()

    def _check(self) -> None:
        disk = os.fstatvfs(self._descriptor)
        if disk.f_bavail * disk.f_frsize < self._limits.min_free_bytes:
            raise SpoolFull
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        granted = int(self._limits.cpu_allowance_s(self._written)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (min(granted, hard), hard))
