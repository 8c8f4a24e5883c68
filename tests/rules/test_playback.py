"""Waveforms and play copies: which recordings need a copy, and that both keep the time."""

import io
from pathlib import Path
from typing import Any

import pytest

WHY = "the asr extra is not installed"
av = pytest.importorskip("av", reason=WHY)
np = pytest.importorskip("numpy", reason=WHY)
decode = pytest.importorskip("app.speech.decoder", reason=WHY).decode
waveform = pytest.importorskip("app.speech.decoder", reason=WHY).waveform

FORMATS = Path(__file__).parents[1] / "data" / "audio" / "formats"
COPIED = {"jfk.3gp", "jfk.amr", "jfk.gsm.wav"}
HEADER_BYTES = 6


def beeps(seconds: int, every: int, rate_hz: int) -> Any:
    """Noise whose loudness differs from second to second, with a loud beep at each `every`."""
    time = np.arange(seconds * rate_hz) / rate_hz
    generator = np.random.default_rng(7)
    noise = generator.normal(size=time.size) * (1500 * (np.floor(time) % 5 == 0))
    beep = np.sin(2 * np.pi * 800 * time) * 20_000 * (np.floor(time) % every == 0)
    return (noise + beep).astype(np.int16)


def mp3(path: Path, samples: Any, rate_hz: int, **options: str) -> Path:
    """Write an MP3, of an average bit rate with `abr`, without its table of times."""
    with av.open(str(path), "w", format="mp3", options={"write_xing": "0"}) as container:
        stream = container.add_stream("libmp3lame", rate=rate_hz, options=options)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = rate_hz
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def loud_seconds(peaks: bytes) -> list[int]:
    """Return the seconds that are nearly full scale for most of their time."""
    by_second = np.frombuffer(peaks, np.uint8)[: len(peaks) // 20 * 20].reshape(-1, 20)
    return [second for second, row in enumerate(by_second) if np.median(row) > 120]


@pytest.mark.parametrize("file", sorted(FORMATS.iterdir()), ids=lambda file: file.name)
def test_a_recording_is_copied_only_if_browsers_do_not_play_it(file: Path) -> None:
    with decode(file) as recording:
        assert (recording.play_copy is not None) == (file.name in COPIED)


def test_an_mp3_of_variable_bit_rate_is_copied_and_keeps_its_times(tmp_path: Path) -> None:
    samples = beeps(60, 10, 22_050)
    with decode(mp3(tmp_path / "cbr.mp3", samples, 22_050, b="48000")) as constant:
        assert constant.play_copy is None
    with decode(mp3(tmp_path / "vbr.mp3", samples, 22_050, b="48000", abr="1")) as recording:
        peaks = waveform(recording)[HEADER_BYTES:]
        assert loud_seconds(peaks) == [0, 10, 20, 30, 40, 50]
        copy = tmp_path / "copy.m4a"
        copy.write_bytes(recording.play_copy.read())
    with decode(copy, content_type="audio/mp4") as copied:
        assert copied.play_copy is None
        assert copied.duration_ms == pytest.approx(60_000, abs=150)
        assert loud_seconds(waveform(copied)[HEADER_BYTES:]) == [0, 10, 20, 30, 40, 50]


def test_a_browser_can_seek_in_a_copy_before_it_has_all_of_it() -> None:
    with decode(FORMATS / "jfk.amr") as recording:
        copy = recording.play_copy.read()
    assert copy.index(b"moov") < copy.index(b"mdat")
    with av.open(io.BytesIO(copy)) as container:
        assert container.streams.audio[0].codec_context.name == "aac"


def test_more_than_two_channels_are_mixed_to_two(tmp_path: Path) -> None:
    file = tmp_path / "six.mov"
    with av.open(str(file), "w", format="mov") as container:
        stream = container.add_stream("alac", rate=16_000)
        stream.layout = "5.1"
        frame = av.AudioFrame.from_ndarray(
            np.full((1, 6 * 4096), 4000, np.int16), format="s16", layout="5.1"
        )
        frame.sample_rate = 16_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with decode(file) as recording:
        assert recording.channels == 6
        assert len(waveform(recording)) == HEADER_BYTES + 6 * 6
        with av.open(io.BytesIO(recording.play_copy.read())) as copy:
            assert copy.streams.audio[0].layout.nb_channels == 2


def test_a_waveform_has_a_lane_for_each_channel(tmp_path: Path) -> None:
    call = Path(__file__).parents[1] / "data" / "audio" / "calls" / "fx-call-2.stereo.wav"
    with decode(call) as recording:
        data = waveform(recording)
        lanes = [recording.read(channel, 0, recording.sample_count) for channel in (0, 1)]
    assert data[:HEADER_BYTES] == b"CQW1\x02\x14"
    count = (len(data) - HEADER_BYTES) // 2
    assert count == -(-lanes[0].size // 800)
    for channel, lane in enumerate(lanes):
        start = HEADER_BYTES + channel * count
        assert data[start : start + count][:1] == bytes([int(np.abs(lane[:800]).max() * 255)])
        assert max(data[start : start + count]) == int(np.abs(lane).max() * 255)


def test_a_damaged_recording_is_copied(tmp_path: Path) -> None:
    data = bytearray((FORMATS / "jfk.m4a").read_bytes())
    data[len(data) // 3 : len(data) // 3 + 500] = b"\xff" * 500
    file = tmp_path / "damaged.m4a"
    file.write_bytes(data)
    with decode(file) as recording:
        assert recording.warnings == ("damaged_audio",)
        assert recording.play_copy is not None
