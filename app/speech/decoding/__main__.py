"""Decoding process: reads a recording from stdin, writes its sound to stdout, reports to stderr.

A play copy, where one is needed, goes to the descriptor that the request names.

The report is one JSON object: `format`, or `error` and `message`.
"""

import ctypes
import json
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from signal import SIGKILL
from typing import Any, BinaryIO

# PyAV loads these at its first stream, when no file can be opened any more.
import av.subtitles.codeccontext
import av.subtitles.stream  # noqa: F401

from app.core.process.stopping import follow
from app.speech.decoding import play_copy
from app.speech.decoding.reader import read
from app.speech.decoding.sound import DISK_FULL, SAMPLE_BYTES, DecodingLimits, silence
from app.speech.errors import ProviderUnavailable, TranscriptionError, UnsupportedMedia

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
# Room for the report.
_FILE_SLACK_BYTES = 1 << 20
_CPU_SLACK_S = 5
_STEP_BYTES = 1 << 20


def main() -> None:
    """Decode as the request in the only argument says."""
    request = json.loads(sys.argv[1])
    limits = DecodingLimits(**request["limits"])
    copy = os.fdopen(request["playCopy"], "w+b")
    _confine(limits, parent_pid=request["parentPid"])
    json.dump(_report(request["contentType"], limits, copy, request["silent"]), sys.stderr)


def _report(
    content_type: str | None,
    limits: DecodingLimits,
    copy: BinaryIO,
    silent: Sequence[tuple[int, int]] | None,
) -> dict[str, Any]:
    try:
        spool = _Spool(sys.stdout.fileno(), limits)
        source = read(sys.stdin.buffer, spool.write, content_type=content_type, limits=limits)
        if silent is not None:
            silence(sys.stdout.fileno(), silent, source.channels)
            source = replace(source, needs_play_copy=True)
        if source.needs_play_copy:
            channels, layout = source.channels, source.layout
            play_copy.write(sys.stdout.fileno(), copy, layout=layout, channels=channels)
            copy.flush()
    except TranscriptionError as error:
        return {"error": error.code, "message": error.message}
    except MemoryError:
        mebibytes = limits.memory_bytes >> 20
        message = f"Decoding this recording needs more than {mebibytes} MiB of memory."
        return {"error": UnsupportedMedia.code, "message": message}
    except _SpoolFull:
        return {"error": DISK_FULL}
    except OSError:
        message = "The recording could not be read or stored right now."
        return {"error": ProviderUnavailable.code, "message": message}
    return {"format": asdict(source)}


def _confine(limits: DecodingLimits, *, parent_pid: int) -> None:
    """Limit this process, and end it with the process that started it.

    Call this after all imports: afterwards no descriptor can be opened, neither a file nor a socket.
    """
    if sys.platform == "linux":
        # Not permitted in every container; the limit of descriptors works everywhere.
        ctypes.CDLL(None).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        _set_limit(resource.RLIMIT_AS, limits.memory_bytes)
    follow(parent_pid, with_signal=SIGKILL)
    spool_bytes = limits.channel_samples * SAMPLE_BYTES
    # The spool lowers the soft limit. Its signal shows the reason; the hard limit only kills.
    _set_limit(resource.RLIMIT_CPU, int(limits.cpu_allowance_s(spool_bytes)) + _CPU_SLACK_S)
    _set_limit(resource.RLIMIT_FSIZE, spool_bytes + _FILE_SLACK_BYTES)
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_NOFILE, 0)


def _set_limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (limit, limit))


class _SpoolFull(Exception):
    """Too little disk space is free to store more sound."""


class _Spool:
    """Writes sound while the disk has room, and raises the limit of processor time with it."""

    def __init__(self, descriptor: int, limits: DecodingLimits) -> None:
        self._descriptor = descriptor
        self._limits = limits
        self._written = 0
        self._next_check = _STEP_BYTES
        self._check()

    def write(self, samples: bytes) -> None:
        """Append samples; raises `_SpoolFull`."""
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
            raise _SpoolFull
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        granted = int(self._limits.cpu_allowance_s(self._written)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (min(granted, hard), hard))


if __name__ == "__main__":
    main()
