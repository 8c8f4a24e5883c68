"""Queue server: the choice of the program, and its private socket."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core import queue
from app.core.settings import Settings
from app.operations.processes import queue_server
from app.system import queue_choice
from app.system.queue_choice import QueueChoice
from tests.forked import ForkedProcess
from tests.queue_server import running_queue_server
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The path of the bundled program, with a PATH that has no other."""
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "ps").symlink_to(shutil.which("ps") or "/bin/ps")
    monkeypatch.setenv("PATH", str(empty))
    choice = queue_choice.choose(Settings(data_dir=tmp_path))
    if not choice.program:
        pytest.skip("no queue server is bundled for this machine")
    return choice.program


@pytest.fixture
def served(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    servers: list[subprocess.Popen[bytes]] = []
    yield servers
    for server in servers:
        server.terminate()
        server.wait()


def choose_with(folder: Path, **settings: Any) -> QueueChoice:
    return queue_choice.choose(Settings(data_dir=folder, **settings))


def test_a_given_address_comes_first(tmp_path: Path) -> None:
    choice = choose_with(tmp_path, redis_url="redis://queue.example:6379/0")
    assert choice.url == "redis://queue.example:6379/0"
    assert choice.program == ""


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"\xff\xfe", b"garbage"])
def test_a_damaged_address_of_the_last_run_is_ignored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "queue.url").write_bytes(content)
    assert queue.redis_url(Settings(data_dir=tmp_path)) == ""


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_a_program_on_path_comes_before_the_bundled_one(
    tmp_path: Path, bundled: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).symlink_to(bundled)
    monkeypatch.setenv("PATH", str(folder))
    assert choose_with(tmp_path).program == str(folder / name)


def test_the_bundled_program_comes_third(tmp_path: Path, bundled: str) -> None:
    choice = choose_with(tmp_path)
    assert choice.program == bundled
    assert choice.url.startswith("unix://")


def test_none_means_no_queue_server(tmp_path: Path) -> None:
    choice = choose_with(tmp_path, redis_url="none")
    assert (choice.url, choice.program) == ("", "")
    assert "jobs start a little later" in choice.description


def test_a_process_of_the_service_names_the_server_that_the_service_started(
    tmp_path: Path, bundled: str
) -> None:
    chosen = queue_choice.choose(Settings(data_dir=tmp_path))
    of_child = Settings(data_dir=tmp_path, redis_url=chosen.url)
    assert queue_choice.choose(of_child).description == chosen.description


def test_without_any_program_jobs_start_later(tmp_path: Path, bundled: str) -> None:
    choice = queue_choice.choose(Settings(data_dir=tmp_path), bundled="")
    assert (choice.url, choice.program) == ("", "")
    assert "jobs start a little later" in choice.description


def test_a_bundled_program_that_was_changed_is_not_used(tmp_path: Path, bundled: str) -> None:
    program = tmp_path / "valkey-server"
    shutil.copy(bundled, program)
    settings = Settings(data_dir=tmp_path)
    assert queue_choice.choose(settings, bundled=str(program)).program == str(program)
    with program.open("ab") as file:
        file.write(b"\0")
    choice = queue_choice.choose(settings, bundled=str(program))
    assert (choice.url, choice.program) == ("", "")
    assert "install it again" in choice.description


@pytest.mark.parametrize("name", ["plain", "with space & 100% odd?#", "long-" + "x" * 90])
def test_the_own_server_answers_on_a_private_socket(
    tmp_path: Path, bundled: str, served: list[subprocess.Popen[bytes]], name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    choice = choose_with(folder)
    queue_server.prepare(folder)
    served.append(subprocess.Popen(queue_server.command(bundled, folder)))
    wait_until(lambda: not queue.problem(choice.url))
    socket = queue_choice.socket_path(folder)
    assert len(os.fsencode(socket)) <= 100
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700


def test_up_uses_a_program_on_path_and_deletes_what_its_predecessor_stored(
    tmp_path: Path, bundled: str
) -> None:
    data = tmp_path / "instance"
    append_only = data / "queue" / "appendonlydir"
    append_only.mkdir(parents=True)
    (append_only / "appendonly.aof.manifest").write_text("of another kind\n")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "valkey-server").symlink_to(bundled)
    service = ServiceProcess(data, PATH=f"{folder}:/usr/bin:/bin")
    try:
        service.wait_ready()
        assert f"embedded: {folder}/valkey-server" in service.text
        assert not append_only.exists()
        assert service.stop() == 0
    finally:
        service.end()


def test_a_worker_of_a_full_server_says_so_and_waits(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with running_queue_server() as server, server.client() as client:
        client.config_set("maxmemory", 1000)
        arguments = (queue.work, "audio", server.url, print)
        worker = ForkedProcess(*arguments, environment={}, output=output)
        wait_until(lambda: "The queue server is unreachable" in output.read_text())
        assert worker.poll() is None
        worker.kill()
    assert "Traceback" not in output.read_text()
