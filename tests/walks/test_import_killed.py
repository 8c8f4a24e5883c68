"""Imports in separate processes that are killed halfway and started again."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.conversations.models import Conversation, Message
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.evaluations.models import Evaluation
from app.imports.jobs import run_import
from app.imports.models import Import
from app.wiring import build_runtime
from tests import commit_halts
from tests.caller import Caller
from tests.forked import ForkedProcess
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess, run_to_end

NUMBER = 300


def load(settings: Settings, import_id: str) -> None:
    """Load an import in a process of its own."""
    commit_halts.obey(commit_halts.anything)
    run_import(build_runtime(settings), import_id)


def line(number: int) -> str:
    messages = [
        {"role": "customer", "text": f"Where is order {number}?"},
        {"role": "agent", "text": "On its way."},
    ]
    return json.dumps({"externalId": f"c{number}", "messages": messages})


def rows(runtime: Runtime, table: Any) -> int:
    with runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def totals(runtime: Runtime) -> dict[str, int]:
    return {each.__tablename__: rows(runtime, each) for each in (Conversation, Message, Evaluation)}


@pytest.fixture
def start_loading(runtime: Runtime, tmp_path: Path) -> Callable[..., ForkedProcess]:
    """Start a process that loads an import; keyword arguments are variables of its environment."""

    def start(import_id: str, **environment: str) -> ForkedProcess:
        return ForkedProcess(
            load,
            runtime.settings,
            import_id,
            environment=environment,
            output=tmp_path / "loading.log",
        )

    return start


ALL = {"conversations": NUMBER, "messages": 2 * NUMBER, "evaluations": NUMBER}


def killed_at(
    runtime: Runtime, process: ForkedProcess | subprocess.Popen[bytes], number: int
) -> int:
    """Kill a process as soon as there are so many conversations; return how many there are."""
    try:
        wait_until(lambda: rows(runtime, Conversation) >= number or process.poll() is not None)
    finally:
        process.kill()
        assert process.wait() == -9
    return rows(runtime, Conversation)


def test_a_killed_import_continues_where_it_stopped(
    client: Caller, runtime: Runtime, start_loading: Callable[..., ForkedProcess]
) -> None:
    content = "\n".join([*map(line, range(NUMBER)), "{", line(0)])
    sent = client.post("/imports", {"content": content}).json()["data"]
    before = 0
    for share in (1, NUMBER // 4, NUMBER // 2):
        now = killed_at(runtime, start_loading(sent["id"]), max(share, before + 1))
        assert before < now < NUMBER
        before = now
        with runtime.db.reading() as session:
            # What is counted is written, and what is written is counted.
            assert session.scalars(select(Import.created)).all() == [now]
            assert session.scalars(select(Import.evaluations_queued)).all() == [now]
    assert start_loading(sent["id"]).wait(60) == 0
    done = client.get(f"/imports/{sent['id']}").json()["data"]
    assert done["status"] == "completed_with_errors"
    assert done["counts"] == {
        "received": NUMBER + 2,
        "created": NUMBER,
        "updated": 0,
        "skipped": 0,
        "failed": 2,
        "evaluationsQueued": NUMBER,
    }
    assert [(each["line"], each["code"]) for each in done["errors"]] == [
        (NUMBER + 1, "MALFORMED"),
        (NUMBER + 2, "DUPLICATE"),
    ]
    assert totals(runtime) == ALL


def test_an_import_that_kills_every_worker_fails(
    client: Caller,
    runtime: Runtime,
    start_loading: Callable[..., ForkedProcess],
    tmp_path: Path,
) -> None:
    sent = client.post("/imports", {"content": line(1)}).json()["data"]
    log = tmp_path / "loading.log"
    for number in range(1, 6):
        worker = start_loading(sent["id"], HALT_AT="after_commit:1")
        wait_until(lambda number=number: log.read_text().count(commit_halts.WORD) == number)  # type: ignore[misc]
        worker.kill()
    run_import(runtime, sent["id"])
    done = client.get(f"/imports/{sent['id']}").json()["data"]
    assert done["status"] == "failed"
    assert done["error"]["code"] == "INTERRUPTED"
    assert done["counts"]["received"] == 0


def test_a_killed_command_can_be_repeated_without_duplicates(
    runtime: Runtime, tmp_path: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join(map(line, range(NUMBER))))
    data_dir, command = runtime.settings.data_dir, ("import", str(file), "--json")
    variables: dict[str, Any] = {"CQE_DATABASE_URL": runtime.settings.effective_database_url}
    there = killed_at(runtime, ServiceProcess(data_dir, *command, **variables).process, 1)
    assert there < NUMBER
    code, text = run_to_end(data_dir, *command, **variables)
    assert code == 0, text
    counts = json.loads(text.splitlines()[-1])["counts"]
    assert counts["received"] == NUMBER
    assert counts["skipped"] == there
    assert counts["created"] == NUMBER - there
    assert totals(runtime) == ALL
