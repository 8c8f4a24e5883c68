"""A service that loses its database while it runs: short messages, once a minute."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

pytestmark = pytest.mark.sqlite_only("damages a SQLite file")
WAITING = {
    "scheduler": "the sweep of evaluations has to wait: The database is damaged.",
    "sender": "webhooks wait for the database: The database is damaged.",
    "upkeep": "meter failed and is tried again in 5 s: The database is damaged.",
}
# The meter, the slowest of them, has tried again after this time.
TRIED_AGAIN_S = 6


def warnings(service: ServiceProcess) -> Counter[tuple[str | None, str]]:
    """The warnings so far, with the role of their process."""
    lines = [json.loads(line) for line in service.text.splitlines() if line.startswith("{")]
    return Counter(
        (line.get("role"), line["message"]) for line in lines if line.get("level") == "WARNING"
    )


def test_what_waits_for_the_database_is_logged_once_a_minute(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "data", CQE_REDIS_URL="none").wait_ready()
    try:
        service.caller().get("/engagements")
        # Not the file of shared memory: without its content the processes would crash.
        for file in (tmp_path / "data" / "cqe.db", tmp_path / "data" / "cqe.db-wal"):
            file.write_bytes(b"x" * 100_000)
        wait_until(
            lambda: warnings(service).keys() >= WAITING.items(), describe=lambda: service.text
        )
        time.sleep(TRIED_AGAIN_S)
    finally:
        service.end()
    assert "Traceback" not in service.text
    assert set(warnings(service).values()) == {1}
