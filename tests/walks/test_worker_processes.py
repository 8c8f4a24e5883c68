"""The worker with real processes: jobs by bell and by sweep, kills, and ends."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core import hosts, queue
from app.core.process import stopping
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.operations.background_work import run_worker
from app.operations.processes import queue_server
from app.operations.processes.workers import JobQueue
from app.system import queue_choice
from app.wiring import build_runtime
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess, is_running, kill

pytestmark = pytest.mark.long

# A worker whose only room is this folder: rows are files, so that each test sees what became of them.
# The last word of a name says how long its job takes. At most one runs at a time.


def work_here(_: tuple[str, ...], folder: Path) -> None:
    os.chdir(folder)
    run_worker(
        queues=[JobQueue("audio", "audio", work, due_ids, ring_after_s=0.2, ring_every_s=2.0)]
    )


def due_ids(runtime: Runtime) -> list[str]:
    return [row.name for row in sorted(Path().glob("row-*")) if is_due(row.read_text())]


def is_due(state: str) -> bool:
    taken_by = state.removeprefix("taken by ")
    return state == "waits" or (taken_by != state and not is_running(int(taken_by)))


def become(row: Path, state: str) -> None:
    # At once: a kill between emptying the file and writing it would lose the row.
    new = row.with_name(f"new-{row.name}")
    new.write_text(state)
    new.replace(row)


def work(runtime: Runtime, name: str) -> None:
    row = Path(name)
    if row.read_text() == "done":
        return
    become(row, f"taken by {os.getpid()}")
    seen = Path(f"seen-{name}")
    is_endless = name.endswith("-endless") or (name.endswith("-twice") and not seen.exists())
    with seen.open("a") as file:
        file.write(f"{os.getpid()}\n")
    while is_endless:
        time.sleep(0.05)
        if stopping.requested():
            become(row, "waits")
            return
    become(row, "done")


class Room:
    """Rows in a folder, and the worker that does them."""

    def __init__(self, data_dir: Path, **variables: Any) -> None:
        self.folder = data_dir.parent
        self._data_dir = data_dir
        self._variables = variables
        self.worker = self.start()

    def start(self) -> ServiceProcess:
        return ServiceProcess(
            self._data_dir, run=work_here, CQE_WORKER_PROCESSES="1", **self._variables
        )

    def put(self, name: str) -> None:
        (self.folder / name).write_text("waits")

    def state(self, name: str) -> str:
        return (self.folder / name).read_text()

    def seen(self, name: str) -> list[int]:
        file = self.folder / f"seen-{name}"
        return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.fixture
def queue_url(tmp_path: Path) -> Iterator[str]:
    """A queue server of the test's own."""
    choice = queue_choice.choose(Settings(data_dir=tmp_path))
    if not choice.program:
        pytest.skip("no queue server for this machine")
    queue_server.prepare(tmp_path)
    server = subprocess.Popen(queue_server.command(choice.program, tmp_path))
    wait_until(lambda: not queue.problem(choice.url))
    yield choice.url
    server.terminate()
    server.wait()


@pytest.fixture
def alone(data_dir: Path) -> Iterator[Room]:
    """A worker with no queue server at all."""
    room = Room(data_dir, CQE_REDIS_URL="none")
    yield room
    room.worker.end()


def test_without_a_queue_server_the_sweep_does_the_jobs_and_repeats_a_killed_one(
    alone: Room,
) -> None:
    for name in ("row-a-short", "row-b-short"):
        alone.put(name)
    wait_until(lambda: [alone.state(f"row-{each}-short") for each in "ab"] == ["done"] * 2)
    assert len(alone.seen("row-a-short")) == 1
    alone.put("row-a-twice")
    wait_until(lambda: alone.seen("row-a-twice"))
    kill(alone.seen("row-a-twice")[0])
    wait_until(lambda: alone.state("row-a-twice") == "done")
    assert len(alone.seen("row-a-twice")) == 2


def test_a_stop_hands_the_running_job_back_and_exits_with_0(alone: Room) -> None:
    alone.put("row-a-endless")
    wait_until(lambda: alone.seen("row-a-endless"))
    assert alone.worker.stop() == 0
    assert alone.state("row-a-endless") == "waits"
    runtime = build_runtime(Settings(data_dir=alone.folder / "instance"))
    assert not hosts.is_running(runtime.db, hosts.WORKER)
    runtime.db.engine.dispose()


def test_a_killed_worker_leaves_no_process(alone: Room) -> None:
    alone.put("row-a-endless")
    wait_until(lambda: alone.seen("row-a-endless"))
    below = alone.worker.children()
    kill(alone.worker.process.pid)
    wait_until(lambda: not [pid for pid in below if is_running(pid)])


def test_with_a_queue_server_jobs_come_by_bell_and_outlive_their_worker(
    data_dir: Path, queue_url: str
) -> None:
    room = Room(data_dir, CQE_REDIS_URL=queue_url)
    try:
        room.put("row-a-short")
        wait_until(lambda: room.state("row-a-short") == "done")
        room.put("row-b-twice")
        wait_until(lambda: room.seen("row-b-twice"))
        kill(room.worker.child("cqe: audio"))
        # Its job dies with it, and another does it.
        wait_until(lambda: not is_running(room.seen("row-b-twice")[0]))
        wait_until(lambda: room.state("row-b-twice") == "done")
        room.put("row-c-endless")
        wait_until(lambda: room.seen("row-c-endless"))
        assert room.worker.stop() == 0
        assert room.state("row-c-endless") == "waits"
    finally:
        room.worker.end()


def test_while_the_queue_server_is_away_the_sweep_does_the_jobs(data_dir: Path) -> None:
    room = Room(data_dir, CQE_REDIS_URL=f"unix://{data_dir}/nobody.sock")
    try:
        room.put("row-a-short")
        wait_until(lambda: room.state("row-a-short") == "done")
    finally:
        room.worker.end()
