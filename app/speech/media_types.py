"""Accepted media types, recognised by the first bytes of a file and never by its name."""

from enum import StrEnum

HEAD_BYTES = 4096
_ID3_HEADER_BYTES = 10
_CHUNK_HEADER_BYTES = 8
# Recorders that cannot seek back to the header write one of several sizes near 2 or 4 GiB.
_STREAMED_SIZE = 0x7FFF_0000


class MediaKind(StrEnum):
    """An accepted container; the value is the name of its FFmpeg demuxer."""

    WAV = "wav"
    MP3 = "mp3"
    MP4 = "mov"
    OGG = "ogg"
    FLAC = "flac"
    WEBM = "matroska"
    AMR = "amr"
    AAC = "aac"


CONTENT_TYPES: dict[str, MediaKind] = {
    "audio/wav": MediaKind.WAV,
    "audio/wave": MediaKind.WAV,
    "audio/x-wav": MediaKind.WAV,
    "audio/vnd.wave": MediaKind.WAV,
    "audio/mpeg": MediaKind.MP3,
    "audio/mp3": MediaKind.MP3,
    "audio/mp4": MediaKind.MP4,
    "audio/m4a": MediaKind.MP4,
    "audio/x-m4a": MediaKind.MP4,
    "audio/3gpp": MediaKind.MP4,
    "audio/ogg": MediaKind.OGG,
    "audio/opus": MediaKind.OGG,
    "audio/flac": MediaKind.FLAC,
    "audio/x-flac": MediaKind.FLAC,
    "audio/webm": MediaKind.WEBM,
    "audio/amr": MediaKind.AMR,
    "audio/aac": MediaKind.AAC,
}


def kind_of_content_type(content_type: str) -> MediaKind | None:
    """Return the container that a content type names; its parameters are ignored."""
    return CONTENT_TYPES.get(content_type.partition(";")[0].strip().lower())


def sniff(head: bytes) -> MediaKind | None:
    """Return the container that the first `HEAD_BYTES` bytes show, or None if none is accepted."""
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return MediaKind.WAV
    if head[:4] == b"OggS":
        return MediaKind.OGG
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return MediaKind.WEBM
    if head[4:8] == b"ftyp":
        return MediaKind.MP4
    if head[:5] == b"#!AMR":
        return MediaKind.AMR
    if head[:4] == b"fLaC":
        return MediaKind.FLAC
    if head[:3] == b"ID3":
        return _after_id3_tag(head)
    return _mpeg_audio(head)


def wav_length_s(head: bytes) -> float:
    """Return the duration that a WAV header declares, or 0 if unknown, as in streamed files.

    FFmpeg clips the duration to the size of the file, so that a truncated file looks complete.
    """
    at, byte_rate = 12, 0
    while at + _CHUNK_HEADER_BYTES <= len(head):
        name = head[at : at + 4]
        size = int.from_bytes(head[at + 4 : at + 8], "little")
        if name == b"fmt ":
            byte_rate = int.from_bytes(head[at + 16 : at + 20], "little")
        if name == b"data":
            has_length = byte_rate and size < _STREAMED_SIZE and head[:4] == b"RIFF"
            return size / byte_rate if has_length else 0.0
        at += _CHUNK_HEADER_BYTES + size + size % 2
    return 0.0


def _after_id3_tag(head: bytes) -> MediaKind | None:
    """Look after an ID3 tag; if the tag is longer than the head, the file is an MP3."""
    if len(head) < _ID3_HEADER_BYTES:
        return None
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    rest = head[_ID3_HEADER_BYTES + size :]
    if not rest:
        return MediaKind.MP3
    return MediaKind.FLAC if rest[:4] == b"fLaC" else _mpeg_audio(rest)


def _mpeg_audio(head: bytes) -> MediaKind | None:
    """Read the sync word of MPEG audio: layer bits 00 are AAC in ADTS, others MP3."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    if head[1] & 0x06 == 0:
        return MediaKind.AAC if head[1] & 0xF0 == 0xF0 else None
    valid = head[1] & 0x18 != 0x08 and head[2] & 0xF0 != 0xF0 and head[2] & 0x0C != 0x0C
    return MediaKind.MP3 if valid else None
