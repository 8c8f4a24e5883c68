"""Parts of facts, whose writer is killed again and again while two web processes read."""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from app.analytics import jobs
from app.analytics.cli import analytics
from app.analytics.engine import part_writer, rebuilding
from app.analytics.engine.database import parts_folder
from app.core.clock import iso_utc
from app.core.runtime import runtime
from tests.caller import Caller
from tests.evaluation_rows import NOW, rows_of
from tests.walks.service_process import ROOT, environment
from tests.web_process import WebProcess

NUMBER = 3000
KILLS = 8


def totals(client: Caller) -> Any:
    params = {"from": iso_utc(NOW - timedelta(days=9)), "to": iso_utc(NOW + timedelta(days=1))}
    answer = client.get("/analytics/summary", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]["totals"]


def test_every_fact_counts_once_whenever_the_writer_is_killed(
    serve: Callable[..., str],
    make_caller: Callable[..., Caller],
    data_dir: Path,
    tmp_path: Path,
) -> None:
    base = serve()
    client, settings, db = make_caller(base), runtime().settings, runtime().db
    rows_of(runtime(), *({"score": number % 101} for number in range(NUMBER)))
    with db.writing() as session:
        reached: str | None = ""
        while reached is not None:
            reached = rebuilding.rebuild_after(session, reached)
    variables = {
        "CQE_DATABASE_URL": settings.effective_database_url,
        "CQE_REDIS_URL": "none",
        "CQE_WORKERS": "2",
    }
    web = WebProcess(environment(data_dir, **variables), tmp_path / "web.log")
    client.base = web.base
    dice = random.Random(5)
    try:
        for _ in range(KILLS):
            writer = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.part_writer_process"],
                cwd=ROOT,
                env=environment(data_dir, **variables),
            )
            until = time.monotonic() + dice.uniform(2, 4)
            while time.monotonic() < until:
                assert totals(client)["completed"] == NUMBER
            assert writer.poll() is None
            writer.kill()
            writer.wait()
            assert totals(client)["completed"] == NUMBER
    finally:
        web.close()
    found = CliRunner().invoke(analytics, ["check"])
    assert found.exit_code == 0, found.output
    jobs.tidy_parts(runtime())
    folder = parts_folder(settings)
    assert len([*folder.glob("*.parquet")]) > 1
    part_writer.delete_unused(db, folder, kept_s=0)
    assert len([*folder.glob("*.parquet")]) == 1
    client.base = base
    assert totals(client)["completed"] == NUMBER
