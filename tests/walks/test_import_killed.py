"""Imports in separate processes that are killed halfway and started again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from app.conversations.models import Conversation, Message
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.imports.jobs import run_import
from app.imports.models import Import
from tests.caller import Caller
from tests.walks.service_process import environment, kill, wait_until

NUMBER = 1000
WORKER = """
import sys
from pathlib import Path
from app.core.settings import Settings
from app.imports.jobs import run_import
from app.wiring import build_runtime

runtime = build_runtime(
    Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2], redis_url="none")
)
print("ready", flush=True)
run_import(runtime, sys.argv[3])
"""

# Children whose first record ends them, one after the other.
DYING = """
import os
from app.imports import jobs
jobs.load_batch = lambda *_: os._exit(9)
for _ in range(5):
    child = os.fork()
    if not child:
        run_import(runtime, sys.argv[3])
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


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


ALL = {"conversations": NUMBER, "messages": 2 * NUMBER, "evaluations": NUMBER}


def killed_at(runtime: Runtime, command: list[str], number: int, **options: Any) -> int:
    """Run a command until there are so many conversations, then kill it; how many there are."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **options)
    try:
        wait_until(lambda: rows(runtime, Conversation) >= number or process.poll() is not None, 30)
    finally:
        kill(process.pid)
        process.wait()
    assert process.returncode == -9, process.returncode
    return rows(runtime, Conversation)


def test_a_killed_import_continues_where_it_stopped(client: Caller, runtime: Runtime) -> None:
    content = "\n".join([*map(line, range(NUMBER)), "{", line(0)])
    sent = client.post("/imports", {"content": content}).json()["data"]
    url = runtime.settings.effective_database_url
    command = [sys.executable, "-c", WORKER, str(runtime.settings.data_dir), url, sent["id"]]
    before = 0
    for share in (1, NUMBER // 4, NUMBER // 2):
        now = killed_at(runtime, command, max(share, before + 1))
        assert before < now < NUMBER
        before = now
        with runtime.db.reading() as session:
            # What is counted is written, and what is written is counted.
            assert session.scalars(select(Import.created)).all() == [now]
            assert session.scalars(select(Import.evaluations_queued)).all() == [now]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
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


def test_an_import_that_kills_every_worker_fails(client: Caller, runtime: Runtime) -> None:
    sent = client.post("/imports", {"content": line(1)}).json()["data"]
    url = runtime.settings.effective_database_url
    dying = WORKER.replace("run_import(runtime, sys.argv[3])", DYING)
    command = [sys.executable, "-c", dying, str(runtime.settings.data_dir), url, sent["id"]]
    died = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert died.stdout.split() == ["ready", *["9"] * 5]
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
    command = [sys.executable, "-P", "-m", "app.cli", "import", str(file), "--json"]
    url = runtime.settings.effective_database_url
    place = {"env": environment(runtime.settings.data_dir, CQE_DATABASE_URL=url), "cwd": tmp_path}
    there = killed_at(runtime, command, 1, **place)
    assert there < NUMBER
    done = subprocess.run(command, check=True, capture_output=True, timeout=60, **place)
    counts = json.loads(done.stdout)["counts"]
    assert counts["received"] == NUMBER
    assert counts["skipped"] == there
    assert counts["created"] == NUMBER - there
    assert totals(runtime) == ALL
