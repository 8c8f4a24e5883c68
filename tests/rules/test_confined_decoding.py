"""Limits of the decoding process, shown with small files that cost a decoder much."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import DiskFull
from app.speech.decoding.sound import DecodingLimits
from app.speech.errors import (
    TooLong,
    TranscriptionStopped,
    UnsupportedMedia,
)
from tests.hostile_media import (
    flac_of_silence,
    mp4,
    mp4_fragment,
    mp4_track,
    with_compressed_header,
)
from tests.recordings import AUDIO
from tests.waiting import wait_until
from tests.walks.service_process import is_running

WHY = "the asr extra is not installed"
pytest.importorskip("av", reason=WHY)
decode = pytest.importorskip("app.speech.decoder", reason=WHY).decode

ROOT = Path(__file__).parents[2]
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
FIXTURES = sorted(file for file in AUDIO.rglob("*.*") if file.suffix != ".md")
HOSTILE = {
    "claimed samples": (mp4(mp4_track(300_000_000)), "more samples than its size"),
    "claimed samples of a fragment": (
        mp4(mp4_track(1)) + mp4_fragment(300_000_000),
        "more samples than its size",
    ),
    "compressed header": (with_compressed_header(mp4(mp4_track(300_000_000))), "compressed"),
    "many tracks": (mp4(*(mp4_track(1, number=n + 1) for n in range(400))), "8 tracks"),
    "one-byte packets": (mp4(mp4_track(20_000), sound=b"\x21" * 20_000), "damaged"),
}
SLOW = flac_of_silence(1800)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[bytes], Path]:
    def store(content: bytes) -> Path:
        file = tmp_path / "upload"
        file.write_bytes(content)
        return file

    return store


def children_of(pid: int) -> list[int]:
    """Return the processes that this thread of a process has started and not yet waited for."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: file.name)
def test_every_fixture_decodes_in_a_quarter_of_the_memory_limit(file: Path) -> None:
    with decode(file, limits=DecodingLimits(memory_bytes=256 << 20)) as recording:
        assert recording.sample_count > 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_reason(
    stored: Callable[[bytes], Path], name: str
) -> None:
    content, reason = HOSTILE[name]
    with pytest.raises(UnsupportedMedia, match=reason) as failure:
        decode(stored(content))
    assert len(content) < 200_000
    assert not failure.value.retryable


def test_memory_is_limited(stored: Callable[[bytes], Path]) -> None:
    with pytest.raises(UnsupportedMedia, match="more than 100 MiB of memory"):
        decode(stored(flac_of_silence(60)), limits=DecodingLimits(memory_bytes=100 << 20))


def test_processor_time_is_limited_by_the_sound(stored: Callable[[bytes], Path]) -> None:
    limits = DecodingLimits(cpu_s=0, cpu_s_per_minute=0.001)
    with pytest.raises(UnsupportedMedia, match="too long for the sound"):
        decode(stored(SLOW), limits=limits)


def test_time_is_limited_by_the_sound(stored: Callable[[bytes], Path]) -> None:
    limits = DecodingLimits(wall_s=0.1, wall_s_per_minute=0)
    with pytest.raises(UnsupportedMedia, match="too long for the sound"):
        decode(stored(SLOW), limits=limits)


def test_the_sound_of_all_channels_is_limited(stored: Callable[[bytes], Path]) -> None:
    limits = DecodingLimits(duration_s=240)
    with decode(stored(flac_of_silence(50)), limits=limits) as recording:
        assert recording.channels == 8
    with pytest.raises(TooLong, match="of 8 channels may last at most 1 minutes"):
        decode(stored(flac_of_silence(70)), limits=limits)


def test_a_nearly_full_disk_puts_decoding_off(stored: Callable[[bytes], Path]) -> None:
    with pytest.raises(DiskFull):
        decode(stored(SLOW), limits=DecodingLimits(min_free_bytes=1 << 60))


@LINUX_ONLY
def test_the_process_can_open_nothing_and_has_no_keys(
    stored: Callable[[bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CQE_MASTER_KEYS", "k1:secret")
    seen: dict[str, Any] = {}
    earlier = set(children_of(os.getpid()))

    def look() -> bool:
        for pid in set(children_of(os.getpid())) - earlier:
            folder = Path(f"/proc/{pid}")
            limits = {
                line[:26].strip(): line[26:].split()[:2]
                for line in (folder / "limits").read_text().splitlines()
            }
            if limits["Max open files"] == ["0", "0"]:
                seen["limits"] = limits
                seen["environment"] = (folder / "environ").read_text()
                seen["handles"] = sorted(os.listdir(folder / "fd"))
                return True
        return False

    with pytest.raises(TranscriptionStopped):
        decode(stored(SLOW), should_stop=look)
    assert seen["limits"]["Max address space"] == [str(1 << 30)] * 2
    assert seen["limits"]["Max core file size"] == ["0", "0"]
    assert "CQE_" not in seen["environment"]
    # Its input, its output, its report and the play copy.
    assert len(seen["handles"]) == 4
    assert set(children_of(os.getpid())) <= earlier


@LINUX_ONLY
def test_killing_the_worker_ends_decoding_and_leaves_no_file(
    stored: Callable[[bytes], Path], tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from app.speech.decoder import decode\n"
        "decode(Path(sys.argv[1]), spool_dir=Path(sys.argv[2]))\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", script, stored(SLOW), spool], cwd=ROOT)
    wait_until(lambda: bool(children_of(worker.pid)))
    (child,) = children_of(worker.pid)
    worker.kill()
    worker.wait()
    wait_until(lambda: not is_running(child))
    assert list(spool.iterdir()) == []


def test_the_decoding_process_imports_nothing_of_the_service() -> None:
    look = (
        "import sys, app.speech.decoding.__main__;"
        "print({'numpy', 'sqlalchemy', 'flask', 'app.core.settings'} & {*sys.modules})"
    )
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"


def test_the_web_process_imports_no_decoder() -> None:
    look = "import sys, app.factory; print({'av', 'numpy', 'ctranslate2'} & {*sys.modules})"
    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "set()"
