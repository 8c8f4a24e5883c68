"""Decoding of uploaded recordings: formats, damage, lengths and channels."""

import struct
from pathlib import Path
from typing import Any

import pytest

from app.speech.decoding.sound import SAMPLE_RATE_HZ, DecodingLimits
from app.speech.errors import (
    NoAudioStream,
    ProviderUnavailable,
    TooLong,
    TranscriptionError,
    TranscriptionStopped,
    UnsupportedMedia,
)
from app.transcript import AudioInfo

WHY = "the asr extra is not installed"
av = pytest.importorskip("av", reason=WHY)
np = pytest.importorskip("numpy", reason=WHY)
decode = pytest.importorskip("app.speech.decoder", reason=WHY).decode
distinct_channels = pytest.importorskip("app.speech.pipeline", reason=WHY).distinct_channels

AUDIO = Path(__file__).parents[1] / "data" / "audio"
FORMATS = sorted((AUDIO / "formats").iterdir())
CONTENT_TYPES = {
    ".3gp": "audio/3gpp",
    ".amr": "audio/amr",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".wav": "audio/wav",
    ".webm": "audio/webm",
}


def measure(path: Path, **options: Any) -> AudioInfo:
    """Decode a file and return what was found."""
    with decode(path, **options) as recording:
        info: AudioInfo = recording.info
        return info


def wav(rate_hz: int, channels: int, samples: bytes, *, declared: int | None = None) -> bytes:
    """A WAV file of 16-bit samples; `declared` is a false size for its header."""
    size = len(samples) if declared is None else declared
    form = struct.pack("<HHIIHH", 1, channels, rate_hz, rate_hz * channels * 2, channels * 2, 16)
    head = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack("<I", 16) + form
    return head + b"data" + struct.pack("<I", size) + samples


def tones(channels: int, rate_hz: int = 8000, seconds: float = 1.0) -> bytes:
    """Interleaved sines, channel k at 300 + 100 k Hz."""
    time = np.arange(int(rate_hz * seconds)) / rate_hz
    sines = [np.sin(2 * np.pi * (300 + 100 * k) * time) * 8000 for k in range(channels)]
    return np.stack(sines, axis=1).astype("<i2").tobytes()


def opus_with_a_gap(path: Path, gap_s: int) -> None:
    """Write a second of sound, nothing at all for `gap_s`, and another second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libopus", rate=48000, layout="mono")
        for start in [
            *range(0, 48000, 960),
            *range(48000 * (1 + gap_s), 48000 * (2 + gap_s), 960),
        ]:
            sine = np.sin(2 * np.pi * 440 * np.arange(start, start + 960) / 48000) * 8000
            frame = av.AudioFrame.from_ndarray(
                sine.astype(np.int16).reshape(1, -1), format="s16", layout="mono"
            )
            frame.sample_rate, frame.pts = 48000, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_every_accepted_format_decodes_to_its_full_duration(path: Path) -> None:
    with decode(path, content_type=CONTENT_TYPES[path.suffix]) as recording:
        assert recording.duration_ms == pytest.approx(11_000, abs=150)
        assert recording.info.channels == 1
        assert recording.info.sample_rate_hz in (8000, 16000, 48000)
        assert recording.read(0, 0, recording.sample_count).std() > 0.1


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_a_wrong_content_type_is_refused(path: Path) -> None:
    wrong = "audio/mpeg" if path.suffix == ".wav" else "audio/wav"
    with pytest.raises(UnsupportedMedia, match="content type"):
        decode(path, content_type=wrong)


def test_the_file_name_is_ignored(tmp_path: Path) -> None:
    misnamed = tmp_path / "call.mp3"
    misnamed.write_bytes((AUDIO / "formats" / "jfk.flac").read_bytes())
    assert measure(misnamed, content_type="audio/flac").codec == "flac"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfb",
        b"ffconcat version 1.0\nfile jfk.mp3\n",
        b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<!doctype html><audio src=jfk.mp3>",
        b"PK\x03\x04" + b"\x00" * 100,
        b"RIFF\x24\x00\x00\x00WAVEffconcat version 1.0\nfile jfk.mp3\n",
        b"\x00\x00\x00\x18ftypM4A " + b"\x00" * 500,
        b"OggS" + b"\x07" * 500,
        b"\x1a\x45\xdf\xa3" + b"\x07" * 500,
        b"fLaC" + b"\x07" * 500,
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_file_that_is_not_a_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "jfk.mp3").write_bytes((AUDIO / "formats" / "jfk.mp3").read_bytes())
    upload = tmp_path / "upload"
    upload.write_bytes(content)
    with pytest.raises(TranscriptionError) as failure:
        measure(upload)
    assert failure.value.code in ("unsupported_media", "no_audio_stream")
    assert str(tmp_path) not in failure.value.message


@pytest.mark.parametrize("name", ["pcm16.wav", "ulaw8k.wav", "m4a", "flac", "mp3", "webm", "3gp"])
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    whole = (AUDIO / "formats" / f"jfk.{name}").read_bytes()
    half = tmp_path / "half"
    half.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnsupportedMedia):
        measure(half)


def test_a_damaged_part_is_skipped_with_a_warning(tmp_path: Path) -> None:
    data = bytearray((AUDIO / "formats" / "jfk.m4a").read_bytes())
    third = len(data) // 3
    data[third : third + 500] = b"\xff" * 500
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    with decode(damaged) as recording:
        assert recording.warnings == ("damaged_audio",)
        assert recording.duration_ms > 10_000


@pytest.mark.parametrize("declared", [0, 0x7FFFF000, 0xFFFFFFFF])
def test_a_streamed_wav_has_the_duration_of_its_samples(tmp_path: Path, declared: int) -> None:
    streamed = tmp_path / "streamed"
    streamed.write_bytes(wav(8000, 1, tones(1, seconds=2), declared=declared))
    assert measure(streamed).duration_ms == 2000


@pytest.mark.parametrize("name", ["pcm16.wav", "amr", "ogg", "mp3"])
def test_the_duration_limit_is_checked_while_decoding(name: str) -> None:
    with pytest.raises(TooLong):
        decode(AUDIO / "formats" / f"jfk.{name}", limits=DecodingLimits(duration_s=5))


def test_a_very_low_sample_rate_is_refused(tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_bytes(wav(1, 1, tones(1)))
    with pytest.raises(UnsupportedMedia, match="sample rate"):
        measure(slow)


def test_eight_channels_are_kept_separate(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_bytes(wav(8000, 8, tones(8)))
    with decode(many) as recording:
        sounds = [recording.read(k, 0, SAMPLE_RATE_HZ) for k in range(8)]
        assert [int(np.abs(np.fft.rfft(sound)).argmax()) for sound in sounds] == [
            300 + 100 * k for k in range(8)
        ]
        assert distinct_channels(recording) == list(range(8))


def test_nine_channels_are_refused(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_bytes(wav(8000, 9, tones(9)))
    with pytest.raises(UnsupportedMedia, match="8 channels"):
        measure(many)


def test_a_file_without_samples_has_no_audio(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(wav(8000, 1, b""))
    with pytest.raises(NoAudioStream):
        measure(empty)


def test_a_video_without_an_audio_track_has_no_audio(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    with av.open(str(film), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 16
        stream.pix_fmt = "yuv420p"
        container.mux(stream.encode(av.VideoFrame(16, 16, "yuv420p")))
        container.mux(stream.encode(None))
    with pytest.raises(NoAudioStream):
        measure(film)


def test_a_gap_in_the_time_stamps_becomes_silence(tmp_path: Path) -> None:
    paused = tmp_path / "paused.webm"
    opus_with_a_gap(paused, 3)
    with decode(paused) as recording:
        assert recording.duration_ms == pytest.approx(5000, abs=60)
        assert not recording.read(0, 2 * SAMPLE_RATE_HZ, 3 * SAMPLE_RATE_HZ).any()


def test_a_gap_counts_towards_the_duration_limit(tmp_path: Path) -> None:
    paused = tmp_path / "paused.webm"
    opus_with_a_gap(paused, 100_000)
    with pytest.raises(TooLong):
        measure(paused, limits=DecodingLimits(duration_s=3600))


def test_identical_channels_count_as_one(tmp_path: Path) -> None:
    mono = np.frombuffer(tones(1), dtype="<i2")
    twice = tmp_path / "twice"
    twice.write_bytes(wav(8000, 2, np.stack([mono, mono], axis=1).tobytes()))
    with decode(twice) as recording:
        assert distinct_channels(recording) == [0]


def test_a_faint_echo_is_a_separate_channel(tmp_path: Path) -> None:
    mono = np.frombuffer(tones(1), dtype="<i2")
    echo = tmp_path / "echo"
    echo.write_bytes(wav(8000, 2, np.stack([mono, mono // 20], axis=1).tobytes()))
    with decode(echo) as recording:
        assert distinct_channels(recording) == [0, 1]


def test_decoded_sound_is_an_unnamed_file(tmp_path: Path) -> None:
    with decode(AUDIO / "formats" / "jfk.flac", spool_dir=tmp_path) as recording:
        assert recording.channels == 1
        assert not list(tmp_path.iterdir())


def test_decoding_stops_on_request() -> None:
    with pytest.raises(TranscriptionStopped):
        decode(AUDIO / "formats" / "jfk.flac", should_stop=lambda: True)


def test_a_missing_file_is_a_retryable_error(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable) as failure:
        measure(tmp_path / "gone")
    assert failure.value.retryable
    assert str(tmp_path) not in failure.value.message
