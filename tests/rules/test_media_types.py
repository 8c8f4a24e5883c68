"""Recognition of media types by the first bytes of a file."""

import struct

import pytest

from app.speech.media_types import MediaKind, kind_of_content_type, sniff, wav_length_s


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", MediaKind.WAV),
        (b"RF64\xff\xff\xff\xffWAVEds64", MediaKind.WAV),
        (b"OggS\x00\x02", MediaKind.OGG),
        (b"\x1a\x45\xdf\xa3\x9f", MediaKind.WEBM),
        (b"\x00\x00\x00\x1cftypM4A ", MediaKind.MP4),
        (b"#!AMR\n", MediaKind.AMR),
        (b"fLaC\x00", MediaKind.FLAC),
        (b"\xff\xfb\x90\x00", MediaKind.MP3),
        (b"\xff\xf1\x50\x80", MediaKind.AAC),
        (b"ID3\x04\x00\x00\x00\x00\x00\x02..\xff\xfb\x90\x00", MediaKind.MP3),
        (b"ID3\x04\x00\x00\x00\x00\x00\x02..fLaC", MediaKind.FLAC),
        (b"ID3\x04\x00\x00\x00\x00\x7f\x7f..", MediaKind.MP3),
    ],
)
def test_containers_are_recognised_by_their_first_bytes(head: bytes, kind: MediaKind) -> None:
    assert sniff(head) is kind


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xff",
        b"RI",
        b"RIFF\x24\x00\x00\x00AVI LIST",
        b"ffconcat version 1.0\nfile other.mp3\n",
        b"#EXTM3U\n#EXTINF:1,\n",
        b"#EXTINF:1,\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<!doctype html>",
        b"PK\x03\x04",
        b"\xff\xfe<\x00?\x00x\x00m\x00l\x00",
        b"\xff\xff\xff\xff",
        b"ID3\x04\x00\x00\x00\x00\x00\x02..<svg>",
    ],
)
def test_other_content_is_not_recognised(head: bytes) -> None:
    assert sniff(head) is None


def test_parameters_of_a_content_type_are_ignored() -> None:
    assert kind_of_content_type("Audio/WebM; codecs=opus") is MediaKind.WEBM


def test_an_unknown_content_type_has_no_container() -> None:
    assert kind_of_content_type("application/octet-stream") is None


def wav_head(data_size: int, *, before: bytes = b"") -> bytes:
    """A WAV header of 8 kHz mono with 16 bits, 16,000 bytes a second."""
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return b"RIFF" + b"\x00" * 4 + b"WAVE" + form + before + b"data" + struct.pack("<I", data_size)


def test_the_duration_of_a_wav_comes_from_its_header() -> None:
    assert wav_length_s(wav_head(32000)) == 2.0


def test_chunks_before_the_samples_are_skipped() -> None:
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\x00"
    assert wav_length_s(wav_head(32000, before=odd)) == 2.0


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_a_streamed_wav_declares_no_duration(size: int) -> None:
    assert wav_length_s(wav_head(size)) == 0.0
