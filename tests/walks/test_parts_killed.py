"""Parts of facts, whose writer is killed again and again while two web processes read."""

import random
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from app.analytics import jobs
from app.analytics.cli import analytics
from app.analytics.engine import parts, rebuilding
from app.analytics.engine.database import parts_folder
from app.core.clock import iso_utc
from tests.caller import Caller
from tests.evaluation_rows import NOW, rows_of
from tests.forked import ForkedProcess
from tests.part_writer_process import write_parts
from tests.running import CommandRunner, running_runtime
from tests.sampling import examples
from tests.waiting import wait_until
from tests.walks.service_process import environment
from tests.web_process import WebProcess

NUMBER = 3000
KILLS = examples(8)


def totals(client: Caller) -> Any:
    params = {"from": iso_utc(NOW - timedelta(days=9)), "to": iso_utc(NOW + timedelta(days=1))}
    answer = client.get("/analytics/summary", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]["totals"]


def is_written(output: Path) -> bool:
    return "written" in output.read_text()


def test_every_fact_counts_once_whenever_the_writer_is_killed(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    data_dir: Path,
    tmp_path: Path,
) -> None:
    base = serve()
    client, runtime = make_caller(base), running_runtime()
    rows_of(runtime, *({"score": place % 101} for place in range(NUMBER)))
    with runtime.db.writing() as session:
        reached: str | None = ""
        while reached is not None:
            reached = rebuilding.rebuild_after(session, reached)
    variables = {
        "CQE_DATABASE_URL": runtime.settings.effective_database_url,
        "CQE_REDIS_URL": "none",
        "CQE_WORKERS": "2",
    }
    web = WebProcess(environment(data_dir, **variables), tmp_path / "web.log")
    client.base = web.base
    dice = random.Random(5)
    try:
        for number in range(KILLS):
            output = tmp_path / f"writer-{number}.log"
            writer = ForkedProcess(
                write_parts, environment=environment(data_dir, **variables), output=output
            )
            try:
                wait_until(partial(is_written, output))
                until = time.monotonic() + dice.uniform(0, 1)
                while time.monotonic() < until:
                    assert totals(client)["completed"] == NUMBER
                assert writer.poll() is None
            finally:
                writer.kill()
            assert totals(client)["completed"] == NUMBER
    finally:
        web.kill()
    found = CommandRunner().invoke(analytics, ["check"])
    assert found.exit_code == 0, found.output
    jobs.tidy_parts(runtime)
    folder = parts_folder(runtime.settings)
    assert len([*folder.glob("*.parquet")]) > 1
    parts.delete_unused(runtime.db, folder, kept_s=0)
    assert len([*folder.glob("*.parquet")]) == 1
    client.base = base
    assert totals(client)["completed"] == NUMBER
