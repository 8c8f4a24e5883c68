"""Check of the claims in an MP4 file, before FFmpeg allocates memory for them."""

import os
from collections.abc import Iterator
from typing import BinaryIO

from app.ai.speech.decoding.limits import MAX_TRACKS
from app.ai.speech.errors import UnsupportedMedia

# GSM in QuickTime files counts 160 samples for 33 bytes; no other format here has more for a byte.
_MAX_SAMPLES_PER_BYTE = 8
_PARENTS = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf"}
# Position of the sample count after the header of the box.
_COUNT_AT = {b"stsz": 8, b"stz2": 8, b"trun": 4}
# The same limit as in FFmpeg.
_MAX_DEPTH = 10
_HEADER_BYTES = 8
_LARGE_HEADER_BYTES = 16


def check_mp4_claims(file: BinaryIO) -> None:
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
        if samples > size * _MAX_SAMPLES_PER_BYTE:
            raise UnsupportedMedia("The file claims more samples than its size can hold.")


def _boxes(file: BinaryIO, start: int, end: int, depth: int = 1) -> Iterator[tuple[bytes, int]]:
    """Yield the type and the body's position of each box, parents before their children."""
    while start + _HEADER_BYTES <= end:
        file.seek(start)
        header = file.read(_LARGE_HEADER_BYTES)
        size, kind, body = int.from_bytes(header[:4], "big"), header[4:8], start + _HEADER_BYTES
        if size == 1:
            size, body = int.from_bytes(header[8:], "big"), start + _LARGE_HEADER_BYTES
        stop = min(start + size, end) if size else end
        if stop < body:
            return
        yield kind, body
        if kind in _PARENTS and depth < _MAX_DEPTH:
            yield from _boxes(file, body, stop, depth + 1)
        start = stop


def _sample_count(file: BinaryIO, kind: bytes, body: int) -> int:
    if kind not in _COUNT_AT:
        return 0
    file.seek(body + _COUNT_AT[kind])
    return int.from_bytes(file.read(4), "big")
