"""Command `import` on folders of others: links, FIFOs, and names that steer a terminal."""

import json
import os
import pty
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from app.core.runtime import Runtime
from app.imports import files
from app.imports.cli import import_
from app.imports.file_import import FileImport, Progress
from app.imports.files import FolderWatch
from app.imports.loading.input import ImportOptions
from app.imports.recordings import RecordingMetadata
from tests.api.test_imports_cli import line
from tests.caller import Caller
from tests.forked import ForkedProcess
from tests.recordings import SILENCE, SPEECH
from tests.running import CommandRunner
from tests.waiting import PATIENCE_S
from tests.walks.service_process import environment, run_command

# Sets the title of the window, moves the cursor up and shows a line that nobody printed.
HOSTILE = "a\x1b]0;owned\x07\x1b[1A\ncqe: all is well\u202e\x9b2J\udcff"
SHOWN = "a?]0;owned??[1A?cqe: all is well??2J?"


@pytest.fixture
def folder(tmp_path: Path, base: str) -> Path:
    """An empty folder of others, next to a secret that is JSON and one that is a recording."""
    (tmp_path / "secret.json").write_text(line("secret"))
    shutil.copy(SILENCE, tmp_path / "secret.wav")
    made = tmp_path / "in"
    made.mkdir()
    return made


def import_folder(folder: Path, *arguments: str) -> Result:
    return CommandRunner().invoke(
        import_, [str(folder), "--no-evaluate", *arguments], catch_exceptions=False
    )


def load(runtime: Runtime, listed: list[files.ImportFile]) -> dict[str, Any]:
    """Load what was listed earlier, within a time that only a hang exceeds."""
    loaded: list[dict[str, Any]] = []

    def run() -> None:
        options = ImportOptions(evaluate=False)
        metadata = RecordingMetadata(options=ImportOptions())
        loading = FileImport(runtime, files.AUTO, options, metadata)
        loaded.extend(loading.load_files(listed, Progress([])).errors)
        loading.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    return {error["file"]: error["message"] for error in loaded}


def test_links_are_refused_and_named(client: Caller, folder: Path) -> None:
    (folder / "leak.wav").symlink_to(folder.parent / "secret.wav")
    (folder / "leak.jsonl").symlink_to(folder.parent / "secret.json")
    (folder / "own.jsonl").write_text(line("own"))
    shutil.copy(SPEECH, folder / "call.mp3")
    (folder / "call.json").symlink_to(folder.parent / "secret.json")
    done = import_folder(folder)
    assert done.exit_code == 1
    assert "4 records: 1 created, 0 updated, 0 skipped, 3 failed" in done.stdout
    reason = (
        "MALFORMED: The file could not be read: it is a symbolic link, or behind one; "
        "--follow-links follows links."
    )
    for name in ("leak.wav", "leak.jsonl", "call.mp3"):
        assert f"{name}: {reason}\n" in done.stderr
    alone = import_folder(folder / "leak.jsonl")
    assert (alone.exit_code, alone.stderr) == (1, f"leak.jsonl: {reason}\n")
    assert client.get("/audio-files").json()["data"] == []


def test_links_are_followed_on_request(client: Caller, folder: Path) -> None:
    (folder / "leak.wav").symlink_to(folder.parent / "secret.wav")
    (folder / "leak.jsonl").symlink_to(folder.parent / "secret.json")
    done = import_folder(folder, "--follow-links")
    assert "2 records: 2 created, 0 updated, 0 skipped, 0 failed" in done.stdout
    assert len(client.get("/audio-files").json()["data"]) == 1


def test_a_table_of_metadata_that_is_a_link_or_a_fifo_is_refused(folder: Path) -> None:
    table = folder / "calls.csv"
    for make in (os.mkfifo, lambda file: file.symlink_to(folder.parent / "secret.json")):
        make(table)
        done = import_folder(folder, "--metadata", str(table))
        assert done.exit_code == 1
        assert f"{table} cannot be read: it is " in done.stderr
        table.unlink()


def swap_for_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def swap_for_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parents[2] / f"secret{file.suffix}")


def swap_parent(file: Path) -> None:
    """Let the folder of the file be a link to a folder that has a file of this name."""
    shutil.copy(file.parents[2] / f"secret{file.suffix}", file.parents[2] / file.name)
    shutil.rmtree(file.parent)
    file.parent.symlink_to(file.parents[2])


@pytest.mark.parametrize("swap", [swap_for_fifo, swap_for_link, swap_parent])
@pytest.mark.parametrize("name", ["call.wav", "chat.json"])
def test_what_takes_the_place_of_a_listed_file_is_refused(
    runtime: Runtime, client: Caller, folder: Path, swap: Callable[[Path], None], name: str
) -> None:
    file = folder / "week" / name
    file.parent.mkdir()
    file.write_bytes(b"x")
    listed = files.list_files(folder)
    swap(file)
    failed = load(runtime, listed)
    assert failed.keys() == {f"week/{name}"}
    assert "it is " in failed[f"week/{name}"]
    assert client.get("/audio-files").json()["data"] == []
    assert client.get("/conversations").json()["data"] == []


def test_a_watched_folder_survives_what_is_put_in_the_place_of_its_files(folder: Path) -> None:
    (folder / "week").mkdir()
    (folder / "week" / "chat.jsonl").write_text(line("a"))
    watch = FolderWatch(lambda: files.list_files(folder))
    assert watch.ready() == []
    assert [file.name for file in watch.ready()] == ["week/chat.jsonl"]
    swap_for_fifo(folder / "week" / "chat.jsonl")
    assert watch.ready() == []
    (folder / "week" / "chat.jsonl").unlink()
    (folder / "week" / "chat.jsonl").symlink_to("/proc/self/mem")
    watch.ready()
    (link,) = watch.ready()
    watch.note_imported([link])
    assert watch.ready() == []


def printed_on_terminal(arguments: list[str], data_dir: Path) -> str:
    """Run a command on a pseudo-terminal; return all that it wrote there."""
    master, slave = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # The last process on the terminal has ended.
            while part := os.read(master, 65536):
                written.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    ForkedProcess(
        run_command,
        tuple(arguments),
        Path.cwd(),
        environment=environment(data_dir, CQE_REDIS_URL="none"),
        output=Path(os.ttyname(slave)),
    ).wait(PATIENCE_S)
    os.close(slave)
    reader.join()
    os.close(master)
    return b"".join(written).decode(errors="replace")


def test_names_of_files_do_not_steer_the_terminal(data_dir: Path, folder: Path) -> None:
    (folder / f"{HOSTILE}.txt").write_text("nonsense")
    (folder / f"{HOSTILE}.wav").touch()
    (folder / "sound.wav").write_bytes(b"x")
    (folder / "sound.json").write_text(json.dumps({"executive": "E\x1b[2J", "labels": "\x9b2J"}))
    written = printed_on_terminal(["import", str(folder), "--no-evaluate"], data_dir)
    assert f"{SHOWN}.txt: UNKNOWN_FORMAT" in written
    assert f"{SHOWN}.wav: MALFORMED: The file is empty." in written
    assert "sound.wav: VALIDATION_ERROR" in written
    # The progress bar clears its own line, and hides and shows the cursor.
    own = ("\x1b[?25l", "\x1b[?25h", "\x1b[K", "\r", "\n")
    for sequence in own:
        written = written.replace(sequence, "")
    assert [character for character in written if not character.isprintable()] == []


def test_doctor_and_restore_show_no_name_raw(tmp_path: Path) -> None:
    hostile = tmp_path / HOSTILE
    hostile.mkdir()
    doctor = printed_on_terminal(["doctor"], hostile)
    assert SHOWN in doctor
    assert "\x1b]0" not in doctor
    restore = printed_on_terminal(["db", "restore", str(hostile)], tmp_path / "new")
    assert f"{SHOWN} is not a complete backup" in restore
    assert "\x1b" not in restore
