"""Two sides of a call: joined at the times at which they began."""

import io
import wave
from pathlib import Path

import numpy as np
import pytest

from app.speech.errors import UnsupportedMedia

pytest.importorskip("av", reason="the asr extra is not installed")


def tone(path: Path, seconds: float, rate: int = 8_000) -> Path:
    sound = 0.5 * np.sin(np.arange(int(seconds * rate)) * 2 * np.pi * 440 / rate)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes((sound * 32767).astype("<i2").tobytes())
    return path


@pytest.mark.parametrize(("later_s", "loud_from"), [(0, (0, 0)), (2.5, (0, 2.5)), (-1, (1, 0))])
def test_the_later_side_is_silent_before_it_begins(
    tmp_path: Path, later_s: float, loud_from: tuple[float, float]
) -> None:
    from app.speech.two_sides import join

    sides = tone(tmp_path / "a.wav", 70), tone(tmp_path / "b.wav", 70, rate=16_000)
    target = io.BytesIO()
    join(*sides, target, spool_dir=tmp_path, min_free_bytes=0, second_later_s=later_s)
    target.seek(0)
    with wave.open(target) as joined:
        rate = joined.getframerate()
        frames = np.frombuffer(joined.readframes(joined.getnframes()), "<i2").reshape(-1, 2)
    assert len(frames) / rate == pytest.approx(70 + abs(later_s), abs=0.1)
    for channel, start in enumerate(loud_from):
        loud = np.flatnonzero(np.abs(frames[:, channel]) > 1_000) / rate
        assert loud[0] == pytest.approx(start, abs=0.05)
        assert loud[-1] == pytest.approx(start + 70, abs=0.05)


def test_sides_that_do_not_overlap_are_of_different_calls(tmp_path: Path) -> None:
    from app.speech.two_sides import join

    sides = tone(tmp_path / "a.wav", 5), tone(tmp_path / "b.wav", 5)
    with pytest.raises(UnsupportedMedia, match="begin 60 seconds apart"):
        join(*sides, io.BytesIO(), spool_dir=tmp_path, min_free_bytes=0, second_later_s=60)
