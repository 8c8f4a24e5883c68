"""Makes small files that cost a decoder much: in memory, in time or on the disk."""

import struct
import zlib

# AAC LC, 8 kHz, one channel.
_AAC_CONFIG = bytes([0x15, 0x88])


def box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def full_box(kind: bytes, *parts: bytes, version_and_flags: int = 0) -> bytes:
    return box(kind, struct.pack(">I", version_and_flags), *parts)


def words(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def aac_description() -> bytes:
    """Describe a track of AAC sound at 8 kHz."""
    config = bytes([5, len(_AAC_CONFIG)]) + _AAC_CONFIG
    decoder = bytes([4, 13 + len(config), 0x40, 0x15]) + bytes(11) + config
    stream = bytes([3, 3 + len(decoder), 0, 1, 0]) + decoder
    sound = bytes(6) + struct.pack(">H8xHHII", 1, 1, 16, 0, 8000 << 16)
    return full_box(b"stsd", words(1), box(b"mp4a", sound, full_box(b"esds", stream)))


def mp4_track(
    sample_count: int, *, number: int = 1, sample_bytes: int = 1, per_chunk: int | None = None
) -> bytes:
    """A track whose samples are all of one size, in one chunk unless `per_chunk` says otherwise."""
    tables = box(
        b"stbl",
        aac_description(),
        full_box(b"stts", words(1, sample_count, 1024)),
        full_box(b"stsc", words(1, 1, per_chunk or sample_count, 1)),
        full_box(b"stsz", words(sample_bytes, sample_count)),
        full_box(b"stco", words(1, 32)),
    )
    data_reference = box(
        b"dinf", full_box(b"dref", words(1), full_box(b"url ", version_and_flags=1))
    )
    media = box(
        b"mdia",
        full_box(b"mdhd", words(0, 0, 8000, min(sample_count * 1024, 2**32 - 1), 0)),
        full_box(b"hdlr", bytes(4), b"soun", bytes(13)),
        box(b"minf", full_box(b"smhd", bytes(4)), data_reference, tables),
    )
    return box(
        b"trak", full_box(b"tkhd", words(0, 0, number), bytes(68), version_and_flags=7), media
    )


def mp4(*tracks: bytes, sound: bytes = b"") -> bytes:
    """An MP4 file; its sound begins at byte 32."""
    start = box(b"ftyp", b"M4A ", bytes(4), b"M4A isom")
    header = full_box(b"mvhd", words(0, 0, 8000, 8000), bytes(80))
    return start + box(b"mdat", sound) + box(b"moov", header, *tracks)


def crc(data: bytes, *, bits: int, polynomial: int) -> int:
    value, top, mask = 0, 1 << (bits - 1), (1 << bits) - 1
    for byte in data:
        value ^= byte << (bits - 8)
        for _ in range(8):
            value = (value << 1 ^ polynomial if value & top else value << 1) & mask
    return value


def flac_of_silence(seconds: int, *, channels: int = 8, rate_hz: int = 8000) -> bytes:
    """FLAC whose frames of 65,535 samples have three bytes for each channel."""
    block = 65_535
    frames = -(-seconds * rate_hz // block)
    form = rate_hz << 44 | (channels - 1) << 41 | 15 << 36 | frames * block
    info = struct.pack(">HH6xQ16x", block, block, form)
    parts = [b"fLaC", bytes([0x80, 0, 0, len(info)]), info]
    for number in range(frames):
        # Sync, block size in 16 bits, rate of the header; constant subframes of silence.
        head = b"\xff\xf8" + bytes([0x70, (channels - 1) << 4 | 8])
        head += chr(number).encode() + struct.pack(">H", block - 1)
        head += bytes([crc(head, bits=8, polynomial=0x07)])
        frame = head + bytes(3) * channels
        parts.append(frame + struct.pack(">H", crc(frame, bits=16, polynomial=0x8005)))
    return b"".join(parts)


def with_compressed_header(file: bytes) -> bytes:
    """Compress the last box of an MP4 file, its header, as QuickTime allows."""
    at = file.rindex(b"moov") - 4
    packed = words(len(file) - at) + zlib.compress(file[at:])
    return file[:at] + box(b"moov", box(b"cmov", box(b"dcom", b"zlib"), box(b"cmvd", packed)))


def mp4_fragment(sample_count: int) -> bytes:
    """A fragment that claims samples of the default size."""
    header = full_box(b"tfhd", words(1, 1024, 1), version_and_flags=0x18)
    run = full_box(b"trun", words(sample_count))
    return box(b"moof", full_box(b"mfhd", words(1)), box(b"traf", header, run))
