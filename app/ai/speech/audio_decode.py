"""Reads sound files that strangers have sent: one forced demuxer, no other file, no network."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from app.ai.speech.media_types import HEAD_BYTES, MediaKind, kind_of_type, sniff, wav_length_s
from app.ai.speech.recording import SAMPLE_RATE_HZ, Recording
from app.ai.speech.resampling import Resampler
from app.ai.speech.transcriber import (
    DEFAULT_MAX_DURATION_S,
    NoAudioStream,
    ProviderUnavailable,
    Stopped,
    TooLong,
    UnsupportedMedia,
)
from app.ai.transcript import AudioInfo
from app.core.process.stopping import never_stop

_CODECS = (
    "aac,adpcm_ima_wav,adpcm_ms,alac,amrnb,amrwb,flac,g722,g723_1,g726,g729,gsm,gsm_ms,mp3,mp3float,"
    "opus,pcm_alaw,pcm_f32le,pcm_f64le,pcm_mulaw,pcm_s16be,pcm_s16le,pcm_s24le,pcm_s32le,pcm_u8,"
    "vorbis"
)
_OPEN_OPTIONS = {
    "format_whitelist": ",".join(MediaKind),
    "codec_whitelist": _CODECS,
    # The bytes come from an open file, so not even the protocol `file` is needed.
    "protocol_whitelist": "none",
}
_EXACT_LENGTH = {MediaKind.FLAC, MediaKind.MP4, MediaKind.WEBM}
_TIMED = {MediaKind.MP4, MediaKind.OGG, MediaKind.WEBM}
_XING_MARKS = (b"Xing", b"Info")
_MISSING_S = 1.0
_MISSING_SHARE = 0.02
_DAMAGED_SHARE = 0.5


def decode(
    path: Path,
    *,
    content_type: str | None = None,
    max_duration_s: float = DEFAULT_MAX_DURATION_S,
    spool_dir: Path | None = None,
    should_stop: Callable[[], bool] = never_stop,
) -> Recording:
    """Decode a file to 16 kHz channels; the caller closes the recording.

    Raises:
        UnsupportedMedia: not one of the known containers, not what `content_type` says, damaged
            beyond reading, or cut short.
        NoAudioStream: readable, but without a sample of sound.
        TooLong: more than `max_duration_s`, found while decoding and not by the header.
    """
    recording = Recording(spool_dir)
    try:
        recording.info, recording.warnings = _read(
            path, recording.append, content_type, max_duration_s, should_stop
        )
        recording.flush()
    except OSError as error:
        recording.close()
        raise ProviderUnavailable("The recording could not be read or stored just now.") from error
    except BaseException:
        recording.close()
        raise
    return recording


def probe(
    path: Path,
    *,
    content_type: str | None = None,
    max_duration_s: float = DEFAULT_MAX_DURATION_S,
) -> AudioInfo:
    """Measure a file by decoding it to its end without keeping the sound; fails as `decode` does."""
    try:
        info, _ = _read(path, lambda samples: None, content_type, max_duration_s, never_stop)
    except OSError as error:
        raise ProviderUnavailable("The recording could not be read just now.") from error
    return info


def _read(
    path: Path,
    keep: Callable[[NDArray[np.int16]], None],
    content_type: str | None,
    max_duration_s: float,
    should_stop: Callable[[], bool],
) -> tuple[AudioInfo, tuple[str, ...]]:
    with _opened(path, content_type) as (kind, container, declared_s):
        stream = container.streams.audio[0]
        resampler = Resampler(fill_gaps=kind in _TIMED)
        limit = int(max_duration_s * SAMPLE_RATE_HZ)
        total = packets = damaged = 0
        for frames in _frames(container, stream):
            packets += 1
            if frames is None:
                damaged += 1
            else:
                total += _keep_all(resampler.feed(frames), keep, limit - total)
            if should_stop():
                raise Stopped
        codec = stream.codec_context.name
    _refuse_broken(total, damaged / packets, declared_s)
    info = AudioInfo(
        container=kind.name.lower(),
        codec=codec,
        sample_rate_hz=resampler.source_rate_hz,
        channels=resampler.channels,
        duration_ms=total * 1000 // SAMPLE_RATE_HZ,
    )
    return info, ("damaged_audio",) if damaged else ()


def _keep_all(
    pieces: Iterable[NDArray[np.int16]], keep: Callable[[NDArray[np.int16]], None], room: int
) -> int:
    """Keep pieces of sound while they fit, and count their samples."""
    count = 0
    for samples in pieces:
        count += samples.shape[1]
        if count > room:
            raise TooLong
        keep(samples)
    return count


def _refuse_broken(total: int, damaged_share: float, declared_s: float) -> None:
    if damaged_share > _DAMAGED_SHARE:
        raise UnsupportedMedia("Most of the recording is damaged.")
    if not total:
        raise NoAudioStream
    if declared_s - total / SAMPLE_RATE_HZ > max(_MISSING_S, declared_s * _MISSING_SHARE):
        raise UnsupportedMedia("The recording is cut short: it ends before the length it declares.")


@contextmanager
def _opened(
    path: Path, content_type: str | None
) -> Iterator[tuple[MediaKind, InputContainer, float]]:
    """Open a checked file; every complaint of the library becomes UnsupportedMedia."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
        kind = _checked_kind(head, content_type)
        file.seek(0)
        try:
            with av.open(
                file,
                mode="r",
                format=kind.value,
                options=dict(_OPEN_OPTIONS),
                metadata_errors="ignore",
            ) as container:
                if not container.streams.audio:
                    raise NoAudioStream
                yield kind, container, _declared_s(container, kind, head)
        except (av.FFmpegError, ValueError, MemoryError) as error:
            raise UnsupportedMedia from error


def _checked_kind(head: bytes, content_type: str | None) -> MediaKind:
    if not head:
        raise UnsupportedMedia("The file is empty.")
    kind = sniff(head)
    if kind is None:
        raise UnsupportedMedia(
            "The file does not begin like WAV, MP3, MP4, Ogg, FLAC, WebM, AMR or AAC."
        )
    if content_type is not None and kind_of_type(content_type) is not kind:
        raise UnsupportedMedia("The content of the file is not what its content type says.")
    return kind


def _declared_s(container: InputContainer, kind: MediaKind, head: bytes) -> float:
    """Return the length the header declares, 0 where such headers are only guesses."""
    if kind is MediaKind.WAV:
        return wav_length_s(head)
    exact = kind in _EXACT_LENGTH or any(mark in head for mark in _XING_MARKS)
    stream = container.streams.audio[0]
    if not exact or len(container.streams) > 1:
        return 0.0
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return (container.duration or 0) / av.time_base


def _frames(container: InputContainer, stream: AudioStream) -> Iterator[list[av.AudioFrame] | None]:
    """Yield the frames of each packet, None for a damaged one, and an empty list at the end."""
    try:
        for packet in container.demux(stream):
            try:
                yield packet.decode()
            except av.FFmpegError:
                yield None
    except av.FFmpegError:
        yield None
    yield []
