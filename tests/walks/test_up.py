"""`up` with real processes: output, refusals, failures and shutdown."""

import json
import os
import pty
import re
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from app.core.settings import Settings
from app.operations import first_start
from tests.caller import Caller
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import (
    UP,
    ServiceProcess,
    descendants,
    has_read,
    is_refused,
    is_running,
    kill,
    run_to_end,
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """One service for the tests that leave it running."""
    service = ServiceProcess(tmp_path_factory.mktemp("up") / "instance", command=UP)
    yield service.wait_ready()
    service.end()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service that the test ends."""
    service = ServiceProcess(tmp_path / "instance")
    yield service.wait_ready()
    service.end()


def folder(service: ServiceProcess) -> Path:
    return service.output.parent / "instance"


def test_the_first_start_prints_addresses(started: ServiceProcess) -> None:
    assert f"http://127.0.0.1:{started.port}\n" in started.text
    assert f"http://127.0.0.1:{started.port}/docs" in started.text


def test_without_a_terminal_key_and_password_go_into_a_private_file(
    started: ServiceProcess,
) -> None:
    file = folder(started) / "first-key.txt"
    assert f"  {file}\n" in started.text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "cqek_" not in started.text
    assert "cqes_" not in started.text
    assert "admin / " not in started.text
    key, secret, password = (line.split()[-1] for line in file.read_text().splitlines())
    assert len(password) == 20
    caller = Caller(f"http://127.0.0.1:{started.port}", key, secret)
    assert caller.get("/api-keys").status_code == 200
    caller.close()


def test_a_later_first_key_is_added_to_the_file(data_dir: Path) -> None:
    file = data_dir / "first-key.txt"
    file.write_text("API key    of before\n")
    access = first_start.prepare(Settings(data_dir=data_dir, redis_url="none"), access_file=file)
    created = first_start.lines_of(access)
    assert file.read_text().splitlines() == ["API key    of before", *created]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_request_is_logged_without_its_query(started: ServiceProcess) -> None:
    url = f"http://127.0.0.1:{started.port}/health/live?sig=abc"
    answer = requests.get(url, headers={"X-Request-Id": "of-the-caller"}, timeout=PATIENCE_S)
    wait_until(lambda: "of-the-caller" in started.text)
    [line] = [line for line in started.text.splitlines() if "of-the-caller" in line]
    logged = json.loads(line)
    assert (logged["host"], logged["role"]) == (socket.gethostname(), "web")
    assert logged["requestId"] == answer.headers["X-Request-Id"]
    assert (logged["method"], logged["path"], logged["status"]) == ("GET", "/health/live", 200)
    assert logged["bytes"] == len(answer.content)
    assert "abc" not in line


def assert_ends_and_leaves_nothing(service: ServiceProcess, below: dict[int, str]) -> None:
    """Wait for its end; check the exit code, the processes that were below, and its address."""
    assert service.process.wait(timeout=PATIENCE_S) == 0
    assert not [name for pid, name in below.items() if is_running(pid)]
    assert not (folder(service) / "queue.url").exists()


def test_on_a_terminal_the_key_is_shown_and_not_kept_and_ctrl_c_leaves_nothing(
    tmp_path: Path,
) -> None:
    terminal, output = pty.openpty()
    service = ServiceProcess(tmp_path / "instance", command=UP, output=output)
    os.close(output)
    shown = b""
    try:
        while b"Stop with" not in shown:
            shown += os.read(terminal, 65536)
        assert shown.count(b"cqek_") == 1
        assert shown.count(b"cqes_") == 1
        assert shown.count(b"Dashboard  admin / ") == 1
        assert not (tmp_path / "instance" / "first-key.txt").exists()
        requests.get(f"http://127.0.0.1:{service.port}/health/live?sig=abc", timeout=PATIENCE_S)
        while b"path=/health/live  status=200" not in shown:
            shown += os.read(terminal, 65536)
        [line] = [line for line in shown.splitlines() if b"path=/health/live" in line]
        assert re.match(rb"\d\d:\d\d:\d\d INFO    web       access  requestId=\S+ ", line), line
        below = service.children()
        service.process.send_signal(signal.SIGINT)
        assert_ends_and_leaves_nothing(service, below)
    finally:
        service.end()
        os.close(terminal)


def test_the_data_folder_is_private(started: ServiceProcess) -> None:
    assert stat.S_IMODE(folder(started).stat().st_mode) == 0o700
    assert stat.S_IMODE((folder(started) / "master.keys").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder(started) / "cqe.db").stat().st_mode) == 0o600


def test_a_second_start_names_the_process_of_the_first(started: ServiceProcess) -> None:
    code, text = run_to_end(folder(started), "up", "--port", "1")
    assert code == 1
    assert f"already running: process {started.process.pid} " in text
    assert "Traceback" not in text


def test_a_restore_is_refused_while_the_service_runs(started: ServiceProcess) -> None:
    assert run_to_end(folder(started), "db", "backup", "copy.db")[0] == 0
    code, text = run_to_end(folder(started), "db", "restore", "copy.db")
    assert code == 1
    assert "stop it first" in text
    code, text = run_to_end(folder(started), "db", "backup", "c" * 300)
    assert text.endswith("c: File name too long\n")
    assert "Errno" not in text


@pytest.mark.parametrize(
    "name",
    ["cqe: web", "cqe: sender", "cqe: scheduler", "cqe: upkeep", "valkey-server"],
)
def test_a_killed_child_is_started_again(started: ServiceProcess, name: str) -> None:
    wait_until(lambda: name in started.children().values())
    victim = started.child(name)
    kill(victim)
    wait_until(
        lambda: any(pid != victim and each == name for pid, each in started.children().items())
    )
    wait_until(lambda: started.health()["code"] == 200)
    assert started.process.poll() is None


def test_a_stop_answers_the_request_in_flight_and_leaves_nothing(fresh: ServiceProcess) -> None:
    body = b'{"name": "n", "type": "t"}'
    below = fresh.children()
    with socket.create_connection(("127.0.0.1", fresh.port), timeout=10) as caller:
        caller.sendall(
            b"POST /v1/engagements HTTP/1.1\r\nHost: cqe\r\nContent-Type: application/json\r\n"
            b"X-Api-Key: none\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        wait_until(lambda: has_read(fresh.port, caller))
        fresh.process.send_signal(signal.SIGTERM)
        wait_until(lambda: is_refused(fresh.port))
        caller.sendall(body)
        assert caller.recv(12) == b"HTTP/1.1 401"
    assert_ends_and_leaves_nothing(fresh, below)


def test_when_up_is_killed_its_children_end_and_the_next_start_waits(
    fresh: ServiceProcess,
) -> None:
    below = fresh.children()
    fresh.process.kill()
    fresh.process.wait()
    again = ServiceProcess(folder(fresh), port=fresh.port)
    try:
        again.wait_ready()
        assert not [name for pid, name in below.items() if is_running(pid)]
        assert "Created at this start" not in again.text
    finally:
        again.end()


def test_a_second_ctrl_c_ends_the_service_at_once_and_in_silence(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "instance").wait_ready()
    below = service.children()
    web = service.child("cqe: web")
    os.kill(web, signal.SIGSTOP)  # it would be waited for
    before = len(service.text.splitlines())
    service.process.send_signal(signal.SIGINT)
    wait_until(lambda: "cqe: scheduler" not in service.children().values(), 20)
    assert service.process.poll() is None
    assert service.stop(signal.SIGINT) == 0
    assert not [name for pid, name in below.items() if is_running(pid)]
    printed = service.text.splitlines()[before:]
    assert printed[-1] == "Stopped."
    assert not [line for line in printed if "Traceback" in line or "in time" in line]


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        service = ServiceProcess(tmp_path / "instance", port=port)
        assert service.process.wait(timeout=PATIENCE_S) == 1
    assert f"port {port} of 127.0.0.1 is in use" in service.text
    assert not descendants(service.process.pid)


def test_a_wrong_setting_stops_the_start_and_an_unknown_one_is_told(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "instance", CQE_THREADS="many")
    assert service.process.wait(timeout=PATIENCE_S) == 2
    assert "CQE_THREADS: must be a whole number from 1 to 256, not 'many'" in service.text
    assert "Traceback" not in service.text


def test_without_a_queue_server_and_on_all_addresses(tmp_path: Path) -> None:
    service = ServiceProcess(
        tmp_path / "instance", CQE_HOST="0.0.0.0", CQE_REDIS_URL="none", CQE_PROT="8000"
    )
    try:
        service.wait_ready()
        assert f"  Address    http://127.0.0.1:{service.port}\n" in service.text
        assert "other machines are answered over HTTPS only" in service.text
        assert "jobs start a little later" in service.text
        assert "CQE_PROT is not a setting: did you mean CQE_PORT?" in service.text
        assert sorted(set(service.children().values())) == [
            "cqe: scheduler",
            "cqe: sender",
            "cqe: upkeep",
            "cqe: web",
        ]
        assert service.health()["code"] == 200
        assert service.stop() == 0
    finally:
        service.end()
