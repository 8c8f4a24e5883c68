"""Play copies: AAC in MP4, for recordings that browsers cannot play or mistime."""

import os
from typing import BinaryIO

import av

from app.speech.decoding.sound import SAMPLE_BYTES, SAMPLE_RATE_HZ
from app.speech.media_types import MediaKind

_BIT_RATE = 48_000
_PACKET_SAMPLES = 1024
_STEP_SAMPLES = 64 * _PACKET_SAMPLES
# The index in front of the sound: its fixed part, and each packet's size and share of the chunks.
_INDEX_BYTES = 4096
_INDEX_BYTES_PER_PACKET = 5

_WAV_CODECS = (
    "pcm_alaw",
    "pcm_f32le",
    "pcm_mulaw",
    "pcm_s16le",
    "pcm_s24le",
    "pcm_s32le",
    "pcm_u8",
)
_PLAYED: dict[MediaKind, tuple[str, ...]] = {
    MediaKind.WAV: _WAV_CODECS,
    MediaKind.MP3: ("mp3", "mp3float"),
    MediaKind.MP4: ("aac", "flac", "mp3", "mp3float", "opus"),
    MediaKind.OGG: ("flac", "opus", "vorbis"),
    MediaKind.FLAC: ("flac",),
    MediaKind.WEBM: ("opus", "vorbis"),
}


class PacketSizes:
    """Range of the packet sizes of a file; an MP3 of constant bit rate pads by one byte."""

    def __init__(self) -> None:
        self._sizes: set[int] = set()

    def add(self, size: int) -> None:
        """Count a packet; an empty one ends the file."""
        if size:
            self._sizes.add(size)

    @property
    def vary(self) -> bool:
        """Return whether the bit rate varies: browsers cannot seek in such a file by time."""
        return bool(self._sizes) and max(self._sizes) - min(self._sizes) > 1


def is_needed(kind: MediaKind, codec: str, sizes: PacketSizes, *, damaged: bool) -> bool:
    """Return whether browsers cannot play this file, or seek to other times than the decoder."""
    mistimed = damaged or (kind is MediaKind.MP3 and sizes.vary)
    return mistimed or codec not in _PLAYED.get(kind, ())


def write(spool: int, target: BinaryIO, *, layout: str, channels: int) -> None:
    """Encode the sound of a spool; the index comes first, so that a browser can seek at once.

    More than two channels are mixed to two.
    """
    frame_bytes = channels * SAMPLE_BYTES
    samples = os.fstat(spool).st_size // frame_bytes
    packets = samples // _PACKET_SAMPLES + 2
    options = {"moov_size": str(_INDEX_BYTES + packets * _INDEX_BYTES_PER_PACKET)}
    with av.open(target, "w", format="mp4", options=options) as container:
        stream = container.add_stream("aac", rate=SAMPLE_RATE_HZ, bit_rate=_BIT_RATE)
        stream.layout = "mono" if channels == 1 else "stereo"
        for start in range(0, samples, _STEP_SAMPLES):
            sound = os.pread(spool, _STEP_SAMPLES * frame_bytes, start * frame_bytes)
            frame = av.AudioFrame("s16", layout, len(sound) // frame_bytes)
            frame.planes[0].update(sound)
            frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
