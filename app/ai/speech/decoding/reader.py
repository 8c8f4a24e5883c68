"""Reader of uploaded recordings: FFmpeg with one demuxer, chosen by the first bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import av
from av.audio.stream import AudioStream
from av.container import InputContainer

from app.ai.speech.decoding import play_copy
from app.ai.speech.decoding.limits import MAX_TRACKS, DecodingLimits
from app.ai.speech.decoding.mp4_claims import check_mp4_claims
from app.ai.speech.decoding.output import SAMPLE_BYTES, SAMPLE_RATE_HZ, SourceFormat
from app.ai.speech.decoding.resampling import Resampler
from app.ai.speech.errors import NoAudioStream, TooLong, UnsupportedMedia
from app.ai.speech.media_types import (
    HEAD_BYTES,
    MediaKind,
    kind_of_content_type,
    sniff,
    wav_length_s,
)

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
# Packets that may come without sound, beyond as many as come with it.
_MAX_EMPTY_PACKETS = 1000


def read(
    file: BinaryIO,
    write: Callable[[bytes], object],
    *,
    content_type: str | None,
    limits: DecodingLimits,
) -> SourceFormat:
    """Decode a file and write its sound in the format of `output`.

    Raises:
        UnsupportedMedia: not one of the known containers, not what `content_type` says, damaged
            beyond reading, truncated, or more costly than `limits` allow.
        NoAudioStream: readable, but without a sample of sound.
        TooLong: longer than `limits` allow, measured while decoding.
    """
    with _opened(file, content_type) as (kind, container, declared_s):
        stream = container.streams.audio[0]
        resampler = Resampler(fill_gaps=kind in _TIMED)
        length = _Length(limits)
        packets = _PacketCounts()
        for samples in _sound(container, stream, resampler, packets):
            length.add(samples, resampler.channels)
            write(samples)
        codec = stream.codec_context.name
    _require_complete(length.samples, packets, declared_s)
    damaged = packets.damaged > 0
    return SourceFormat(
        container=kind.name.lower(),
        codec=codec,
        sample_rate_hz=resampler.source_rate_hz,
        channels=resampler.channels,
        layout=resampler.layout,
        damaged=damaged,
        needs_play_copy=play_copy.is_needed(kind, codec, packets.sizes, damaged=damaged),
    )


class _Length:
    """Counts the samples of one channel against the limits."""

    def __init__(self, limits: DecodingLimits) -> None:
        self._limits = limits
        self.samples = 0

    def add(self, samples: bytes, channels: int) -> None:
        """Count samples of all channels; raises `TooLong`."""
        self.samples += len(samples) // (channels * SAMPLE_BYTES)
        if self.samples > self._limits.duration_s * SAMPLE_RATE_HZ:
            raise TooLong.limited(self._limits.duration_s)
        if self.samples * channels > self._limits.channel_samples:
            longest_s = self._limits.channel_samples / (channels * SAMPLE_RATE_HZ)
            raise TooLong.limited(longest_s, channels=channels)


class _PacketCounts:
    """Counts packets, and refuses a file of which most give no sound."""

    def __init__(self) -> None:
        self.total = self.damaged = self._empty = 0
        self.sizes = play_copy.PacketSizes()

    def add(self, size: int, frames: list[av.AudioFrame] | None) -> None:
        """Count a packet by its size and its frames, None for a damaged one."""
        self.total += 1
        self.sizes.add(size)
        self.damaged += frames is None
        self._empty += not frames
        if self._empty > self.total / 2 + _MAX_EMPTY_PACKETS:
            raise UnsupportedMedia("Most of the recording is damaged.")


def _require_complete(samples: int, packets: _PacketCounts, declared_s: float) -> None:
    if packets.damaged > packets.total * _DAMAGED_SHARE:
        raise UnsupportedMedia("Most of the recording is damaged.")
    if declared_s - samples / SAMPLE_RATE_HZ > max(_MISSING_S, declared_s * _MISSING_SHARE):
        raise UnsupportedMedia(
            "The recording is truncated: it ends before the duration that it declares."
        )
    if not samples:
        raise NoAudioStream


@contextmanager
def _opened(
    file: BinaryIO, content_type: str | None
) -> Iterator[tuple[MediaKind, InputContainer, float]]:
    """Open a checked file; every error of the library becomes UnsupportedMedia."""
    head = file.read(HEAD_BYTES)
    kind = _checked_kind(head, content_type)
    if kind is MediaKind.MP4:
        check_mp4_claims(file)
    file.seek(0)
    try:
        with av.open(
            file,
            mode="r",
            format=kind.value,
            options=dict(_OPEN_OPTIONS),
            metadata_errors="ignore",
        ) as container:
            if len(container.streams) > MAX_TRACKS:
                raise UnsupportedMedia(f"The file has more than {MAX_TRACKS} tracks.")
            if not container.streams.audio:
                raise NoAudioStream
            yield kind, container, _declared_s(container, kind, head)
    except MemoryError:
        raise
    except (av.FFmpegError, ValueError) as error:
        raise UnsupportedMedia from error


def _checked_kind(head: bytes, content_type: str | None) -> MediaKind:
    if not head:
        raise UnsupportedMedia("The file is empty.")
    kind = sniff(head)
    if kind is None:
        raise UnsupportedMedia(
            "The file is not a WAV, MP3, MP4, Ogg, FLAC, WebM, AMR or AAC recording."
        )
    if content_type is not None and kind_of_content_type(content_type) is not kind:
        raise UnsupportedMedia("The file is not of the declared content type.")
    return kind


def _declared_s(container: InputContainer, kind: MediaKind, head: bytes) -> float:
    """Return the duration that the header declares, or 0 if headers of this kind are estimates."""
    if kind is MediaKind.WAV:
        return wav_length_s(head)
    exact = kind in _EXACT_LENGTH or any(mark in head for mark in _XING_MARKS)
    stream = container.streams.audio[0]
    if not exact or len(container.streams) > 1:
        return 0.0
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    return (container.duration or 0) / av.time_base


def _sound(
    container: InputContainer, stream: AudioStream, resampler: Resampler, packets: _PacketCounts
) -> Iterator[bytes]:
    for size, frames in _frames(container, stream):
        packets.add(size, frames)
        yield from resampler.feed(frames or ())
    yield from resampler.finish()


def _frames(
    container: InputContainer, stream: AudioStream
) -> Iterator[tuple[int, list[av.AudioFrame] | None]]:
    """Yield the size and the frames of each packet, None for a damaged one."""
    try:
        for packet in container.demux(stream):
            try:
                yield packet.size, packet.decode()
            except MemoryError:
                raise
            except av.FFmpegError:
                yield packet.size, None
    except MemoryError:
        raise
    except av.FFmpegError:
        yield 0, None
