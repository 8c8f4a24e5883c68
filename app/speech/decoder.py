"""Decoder: a process of its own decodes a recording; its sound is read, and drawn as a waveform."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from signal import SIGKILL, SIGTERM, SIGXCPU
from typing import IO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.core.errors import DiskFull
from app.core.process.stopping import never_stop
from app.speech import decoding
from app.speech.decoding.sound import (
    DISK_FULL,
    MAX_CHANNELS,
    SAMPLE_BYTES,
    SAMPLE_RATE_HZ,
    DecodingLimits,
    SourceFormat,
)
from app.speech.errors import (
    NoAudioStream,
    ProviderUnavailable,
    TooLong,
    TranscriptionError,
    TranscriptionStopped,
    UnsupportedMedia,
)
from app.speech.transcriber import WAVEFORM_MARK, DecodedSound, TranscriptionOptions
from app.transcript import AudioInfo

Sound: TypeAlias = NDArray[np.float32]
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
_PEAKS_PER_SECOND = 20
_PEAK_SAMPLES = SAMPLE_RATE_HZ // _PEAKS_PER_SECOND
_PEAKS_WINDOW_SAMPLES = 600 * _PEAK_SAMPLES
_PEAK_FULL_SCALE = 255


class Recording:
    """The channels of one recording as 16 kHz samples; leaving the `with` block deletes them.

    `play_copy` is an open file with sound that browsers play, where they do not play the upload.
    """

    def __init__(
        self, spool: IO[bytes], source: SourceFormat, play_copy: IO[bytes] | None = None
    ) -> None:
        self._spool = spool
        self.play_copy = play_copy
        self._frame_bytes = source.channels * SAMPLE_BYTES
        self.channels = source.channels
        self.sample_count = os.fstat(spool.fileno()).st_size // self._frame_bytes
        self.duration_ms = self.sample_count * 1000 // SAMPLE_RATE_HZ
        self.warnings = ("damaged_audio",) if source.damaged else ()
        self.info = AudioInfo(
            container=source.container,
            codec=source.codec,
            sample_rate_hz=source.sample_rate_hz,
            channels=source.channels,
            duration_ms=self.duration_ms,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._spool.close()
        if self.play_copy is not None:
            self.play_copy.close()

    def read(self, channel: int, start: int, stop: int) -> Sound:
        """Read the samples from `start` to before `stop`, scaled to -1..1."""
        count = max(0, min(stop, self.sample_count) - start)
        data = os.pread(self._spool.fileno(), count * self._frame_bytes, start * self._frame_bytes)
        samples = np.frombuffer(data, dtype=np.int16).reshape(-1, self.channels)
        return samples[:, channel].astype(np.float32) / 32768.0


def decode(
    path: Path,
    *,
    content_type: str | None = None,
    limits: DecodingLimits | None = None,
    spool_dir: Path | None = None,
    should_stop: Callable[[], bool] = never_stop,
    silent: Sequence[tuple[int, int]] | None = None,
) -> Recording:
    """Decode a file to 16 kHz channels, in a process of its own; the caller closes the recording.

    With `silent`, stretches in ms, these are zeroed, and there always is a play copy.

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
                _command(content_type, limits, play_copy, silent),
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


@contextmanager
def decoded(
    path: Path,
    options: TranscriptionOptions,
    *,
    spool_dir: Path,
    min_free_bytes: int,
    should_stop: Callable[[], bool],
    silent: Sequence[tuple[int, int]] | None = None,
) -> Iterator[DecodedSound]:
    """Decode a file without transcribing it; raises what `Transcriber.transcribe` raises."""
    limits = DecodingLimits(duration_s=options.max_duration_s, min_free_bytes=min_free_bytes)
    with decode(
        path,
        content_type=options.content_type,
        limits=limits,
        spool_dir=spool_dir,
        should_stop=should_stop,
        silent=silent,
    ) as recording:
        yield decoded_sound(recording)


def decoded_sound(recording: Recording) -> DecodedSound:
    """Return what people hear and see of a decoded recording."""
    return DecodedSound(recording.info, waveform(recording), recording.play_copy)


def waveform(recording: Recording) -> bytes:
    """Return the mark, the number of channels, the peaks a second, then each channel's peaks.

    Every number is one byte; a peak of 255 is full scale.
    """
    header = WAVEFORM_MARK + bytes([recording.channels, _PEAKS_PER_SECOND])
    return header + b"".join(_peaks(recording, channel) for channel in range(recording.channels))


def _command(
    content_type: str | None,
    limits: DecodingLimits,
    play_copy: IO[bytes],
    silent: Sequence[tuple[int, int]] | None,
) -> list[str]:
    request = {
        "contentType": content_type,
        "playCopy": play_copy.fileno(),
        "limits": asdict(limits),
        "parentPid": os.getpid(),
        "silent": silent,
    }
    # Without `site`, whose hooks for editable installs cost more than our imports.
    return [sys.executable, "-S", "-P", "-m", decoding.__name__, json.dumps(request)]


def _environment() -> dict[str, str]:
    """Pass what the interpreter needs to start, and nothing else: no key, no setting."""
    folders = [str(Path(__file__).parents[2]), *filter(None, sys.path)]
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


def _peaks(recording: Recording, channel: int) -> bytes:
    parts = []
    for start in range(0, recording.sample_count, _PEAKS_WINDOW_SAMPLES):
        loudness = np.abs(recording.read(channel, start, start + _PEAKS_WINDOW_SAMPLES))
        loudest = np.maximum.reduceat(loudness, np.arange(0, loudness.size, _PEAK_SAMPLES))
        parts.append((loudest * _PEAK_FULL_SCALE).astype(np.uint8).tobytes())
    return b"".join(parts)
