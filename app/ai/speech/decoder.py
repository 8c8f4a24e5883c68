"""Decoder: starts a decoding process for a recording, watches it and returns its sound."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGXCPU
from typing import IO

from app.ai.speech import decoding
from app.ai.speech.decoding.limits import MAX_CHANNELS, DecodingLimits
from app.ai.speech.decoding.output import DISK_FULL, SourceFormat
from app.ai.speech.errors import (
    NoAudioStream,
    ProviderUnavailable,
    TooLong,
    TranscriptionError,
    TranscriptionStopped,
    UnsupportedMedia,
)
from app.ai.speech.recording import Recording
from app.core.process.stopping import never_stop
from app.core.storage.objects import DiskFull

logger = logging.getLogger(__name__)

_ERRORS: dict[str, type[TranscriptionError]] = {
    error.code: error for error in (NoAudioStream, ProviderUnavailable, TooLong, UnsupportedMedia)
}
_TOO_SLOW = "Decoding this recording takes too long for the sound in it."
_CRASHED = (
    "The decoder fails on this recording: it is damaged, or needs more than {} MiB of memory."
)
_POLL_S = 0.2
_REPORT_BYTES = 4096
# An interpreter outside of the system's folders may need these to start; nothing else is passed.
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "PYTHONHOME")


def decode(
    path: Path,
    *,
    content_type: str | None = None,
    limits: DecodingLimits | None = None,
    spool_dir: Path | None = None,
    should_stop: Callable[[], bool] = never_stop,
) -> Recording:
    """Decode a file to 16 kHz channels, in a process of its own; the caller closes the recording.

    Raises:
        UnsupportedMedia: not one of the known containers, not what `content_type` says, damaged
            beyond reading, truncated, or more costly than `limits` allow.
        NoAudioStream: readable, but without a sample of sound.
        TooLong: longer than `limits` allow.
        DiskFull: too little disk space is free.
        ProviderUnavailable: decoding failed now and may work later.
        TranscriptionStopped: `should_stop` returned true.
    """
    limits = limits or DecodingLimits()
    try:
        with (
            path.open("rb") as source,
            tempfile.TemporaryFile(dir=spool_dir) as report,
            ExitStack() as files,
        ):
            spool = files.enter_context(tempfile.TemporaryFile(dir=spool_dir))
            play_copy = files.enter_context(tempfile.TemporaryFile(dir=spool_dir))
            process = subprocess.Popen(  # noqa: S603
                _command(content_type, limits, play_copy),
                pass_fds=[play_copy.fileno()],
                stdin=source,
                stdout=spool,
                stderr=report,
                env=_environment(),
                start_new_session=True,
            )
            exit_code = _watch(process, spool, limits, should_stop)
            source_format = _source_format(exit_code, report, limits)
            files.pop_all()
    except OSError as error:
        raise ProviderUnavailable("The recording could not be read or stored right now.") from error
    if not source_format.needs_play_copy:
        play_copy.close()
        return Recording(spool, source_format)
    play_copy.seek(0)
    return Recording(spool, source_format, play_copy)


def _command(content_type: str | None, limits: DecodingLimits, play_copy: IO[bytes]) -> list[str]:
    request = {
        "contentType": content_type,
        "playCopy": play_copy.fileno(),
        "limits": asdict(limits),
        "parentPid": os.getpid(),
    }
    # Without `site`, whose hooks for editable installs cost more than our imports.
    return [sys.executable, "-S", "-P", "-m", decoding.__name__, json.dumps(request)]


def _environment() -> dict[str, str]:
    """Pass what the interpreter needs to start, and nothing else: no key, no setting."""
    folders = [str(Path(__file__).parents[3]), *filter(None, sys.path)]
    return {
        **{name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in folders),
    }


def _watch(
    process: subprocess.Popen[bytes],
    spool: IO[bytes],
    limits: DecodingLimits,
    should_stop: Callable[[], bool],
) -> int:
    """Wait for the process and return its exit code; kill it when it is stopped or too slow."""
    started = time.monotonic()
    with process:
        try:
            while not should_stop():
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(_POLL_S)
                decoded_bytes = os.fstat(spool.fileno()).st_size
                if time.monotonic() - started > limits.wall_allowance_s(decoded_bytes):
                    raise UnsupportedMedia(_TOO_SLOW)
            raise TranscriptionStopped
        finally:
            process.kill()


def _source_format(exit_code: int, report: IO[bytes], limits: DecodingLimits) -> SourceFormat:
    """Read the report of a process that ended, or raise the reason why it failed."""
    report.seek(0)
    text = report.read(_REPORT_BYTES)
    if exit_code == -SIGXCPU:
        raise UnsupportedMedia(_TOO_SLOW)
    if exit_code > 0 or -exit_code in (SIGKILL, SIGTERM):
        logger.error("decoding ended with %d: %s", exit_code, text.decode(errors="replace"))
        raise ProviderUnavailable("The decoder was interrupted.")
    try:
        if exit_code == 0:
            return _reported(text)
    except (ValueError, TypeError, KeyError, AttributeError):
        # A decoder that hostile input has taken over may report anything.
        logger.exception("decoding gave no report")
    raise UnsupportedMedia(_CRASHED.format(limits.memory_bytes >> 20))


def _reported(text: bytes) -> SourceFormat:
    report = json.loads(text)
    if report.get("error") == DISK_FULL:
        raise DiskFull
    if "error" in report:
        raise _ERRORS[report["error"]](str(report["message"]))
    source_format = SourceFormat(**report["format"])
    numbers = (
        source_format.channels in range(1, MAX_CHANNELS + 1),
        isinstance(source_format.sample_rate_hz, int),
    )
    if not (all(numbers) and source_format.codec.isascii() and source_format.container.isascii()):
        raise ValueError("the report has wrong types")
    return source_format
