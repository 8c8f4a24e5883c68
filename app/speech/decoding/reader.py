"""Reader of uploaded recordings: FFmpeg with one demuxer, chosen by the first bytes."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import av
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer

from app.speech.decoding import play_copy
from app.speech.decoding.sound import (
    MAX_CHANNELS,
    MAX_TRACKS,
    SAMPLE_BYTES,
    SAMPLE_RATE_HZ,
    DecodingLimits,
    SourceFormat,
)
from app.speech.errors import NoAudioStream, TooLong, UnsupportedMedia
from app.speech.media_types import (
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
_RATES_HZ = range(4_000, 384_001)
_SHORTEST_GAP_S = 0.1
_GAP_STEP_SAMPLES = 60 * SAMPLE_RATE_HZ
# GSM in QuickTime files counts 160 samples for 33 bytes; no other format here has more for a byte.
_MP4_MAX_SAMPLES_PER_BYTE = 8
_MP4_PARENTS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf"}
# Position of the sample count after the header of the box.
_MP4_COUNT_AT = {b"stsz": 8, b"stz2": 8, b"trun": 4}
# The same limit as in FFmpeg.
_MP4_MAX_DEPTH = 10
_MP4_HEADER_BYTES = 8
_MP4_LARGE_HEADER_BYTES = 16


def read(
    file: BinaryIO,
    write: Callable[[bytes], object],
    *,
    content_type: str | None,
    limits: DecodingLimits,
) -> SourceFormat:
    """Decode a file and write its sound in the format of `sound`.

    Raises:
        UnsupportedMedia: not one of the known containers, not what `content_type` says, damaged
            beyond reading, truncated, or more costly than `limits` allow.
        NoAudioStream: readable, but without a sample of sound.
        TooLong: longer than `limits` allow, measured while decoding.
    """
    with _opened(file, content_type) as (kind, container, declared_s):
        stream = container.streams.audio[0]
        resampler = _Resampler(fill_gaps=kind in _TIMED)
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


class _Resampler:
    """Converts frames to interleaved samples.

    With `fill_gaps`, a jump in the time stamps becomes silence: some senders do not send silence.
    It comes in steps, so that the caller can stop a file that claims years of it.
    """

    def __init__(self, *, fill_gaps: bool) -> None:
        self._fill_gaps = fill_gaps
        self._inner: AudioResampler | None = None
        self._source: tuple[int, str, str] | None = None
        self._layout: av.AudioLayout | None = None
        self._next_s: float | None = None
        self.source_rate_hz = 0
        self.channels = 0

    def feed(self, frames: Sequence[av.AudioFrame]) -> Iterator[bytes]:
        for frame in frames:
            yield from self._gap_before(frame)
            yield from self._adapt_to(frame)
            frame.pts = None
            yield from self._resample(frame)

    def finish(self) -> Iterator[bytes]:
        """Yield the samples that the filter still holds; `feed` may go on afterwards."""
        yield from self._resample(None)
        self._inner = self._source = None

    @property
    def layout(self) -> str:
        """Name of the layout of the channels; empty before the first frame."""
        return self._layout.name if self._layout else ""

    @property
    def _frame_bytes(self) -> int:
        return self.channels * SAMPLE_BYTES

    def _adapt_to(self, frame: av.AudioFrame) -> Iterator[bytes]:
        """Restart when the format changes in mid-file; the output keeps the first layout."""
        source = (frame.sample_rate, frame.layout.name, frame.format.name)
        if source == self._source:
            return
        if frame.sample_rate not in _RATES_HZ:
            raise UnsupportedMedia("The sample rate must be between 4 and 384 kHz.")
        if not 1 <= frame.layout.nb_channels <= MAX_CHANNELS:
            raise UnsupportedMedia(f"The recording has more than {MAX_CHANNELS} channels.")
        yield from self.finish()
        if self._layout is None:
            self._layout = frame.layout
            self.channels = frame.layout.nb_channels
            self.source_rate_hz = frame.sample_rate
        self._source = source
        # Interleaved, since PyAV 18.1 crashes the process on planar frames of 8 channels.
        self._inner = AudioResampler(format="s16", layout=self._layout, rate=SAMPLE_RATE_HZ)

    def _resample(self, frame: av.AudioFrame | None) -> Iterator[bytes]:
        if self._inner is not None:
            for ready in self._inner.resample(frame):
                # The plane is padded behind its samples.
                yield bytes(ready.planes[0])[: ready.samples * self._frame_bytes]

    def _gap_before(self, frame: av.AudioFrame) -> Iterator[bytes]:
        if not self._fill_gaps or frame.time is None or not frame.sample_rate:
            return
        expected_s, self._next_s = self._next_s, frame.time + frame.samples / frame.sample_rate
        if expected_s is None or frame.time - expected_s < _SHORTEST_GAP_S:
            return
        missing = int((frame.time - expected_s) * SAMPLE_RATE_HZ)
        yield from self.finish()
        while missing > 0:
            step = min(missing, _GAP_STEP_SAMPLES)
            yield bytes(step * self._frame_bytes)
            missing -= step


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
        _check_mp4_claims(file)
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
    container: InputContainer, stream: AudioStream, resampler: _Resampler, packets: _PacketCounts
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


def _check_mp4_claims(file: BinaryIO) -> None:
    """Refuse a file that claims more tracks or samples than its size can hold.

    FFmpeg allocates an index entry for each sample that a header claims, so that 5 KB can cost
    gigabytes.
    """
    size = file.seek(0, os.SEEK_END)
    tracks = samples = 0
    for kind, body in _boxes(file, 0, size):
        if kind == b"cmov":
            raise UnsupportedMedia("The file's header is compressed: save it uncompressed.")
        tracks += kind == b"trak"
        samples += _sample_count(file, kind, body)
        if tracks > MAX_TRACKS:
            raise UnsupportedMedia(f"The file has more than {MAX_TRACKS} tracks.")
        if samples > size * _MP4_MAX_SAMPLES_PER_BYTE:
            raise UnsupportedMedia("The file claims more samples than its size can hold.")


def _boxes(file: BinaryIO, start: int, end: int, depth: int = 1) -> Iterator[tuple[bytes, int]]:
    """Yield the type and the body's position of each box, parents before their children."""
    while start + _MP4_HEADER_BYTES <= end:
        file.seek(start)
        header = file.read(_MP4_LARGE_HEADER_BYTES)
        size, kind, body = int.from_bytes(header[:4], "big"), header[4:8], start + _MP4_HEADER_BYTES
        if size == 1:
            size, body = int.from_bytes(header[8:], "big"), start + _MP4_LARGE_HEADER_BYTES
        stop = min(start + size, end) if size else end
        if stop < body:
            return
        yield kind, body
        if kind in _MP4_PARENTS and depth < _MP4_MAX_DEPTH:
            yield from _boxes(file, body, stop, depth + 1)
        start = stop


def _sample_count(file: BinaryIO, kind: bytes, body: int) -> int:
    if kind not in _MP4_COUNT_AT:
        return 0
    file.seek(body + _MP4_COUNT_AT[kind])
    return int.from_bytes(file.read(4), "big")
