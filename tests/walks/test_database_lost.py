"""A service that loses its database while it runs: short messages, once a minute."""

import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from app.analytics.exports.service import QUEUE
from app.core.ids import new_id
from app.core.queue import Bell, Doorbell, redis_url
from app.core.settings import Settings
from tests.waiting import wait_until
from tests.walks.service_process import ServiceProcess

pytestmark = pytest.mark.sqlite_only("damages a SQLite file")
# Which sweep meets the damage first depends on the pages that its connection has in memory.
WAITING = {
    "scheduler": r"the sweep of \w+ has to wait: The database is damaged\.",
    "sender": r"webhooks wait for the database: The database is damaged\.",
    "upkeep": r"meter failed and is tried again in 5 s: The database is damaged\.",
}
# The meter, the slowest of them, has tried again after this time.
TRIED_AGAIN_S = 6


def warnings(service: ServiceProcess) -> Counter[tuple[str | None, str]]:
    """The warnings so far, with the role of their process."""
    lines = [json.loads(line) for line in service.text.splitlines() if line.startswith("{")]
    return Counter(
        (line.get("role"), line["message"]) for line in lines if line.get("level") == "WARNING"
    )


def all_wait(service: ServiceProcess) -> bool:
    logged = warnings(service)
    return all(
        any(role == of and re.fullmatch(text, message) for of, message in logged)
        for role, text in WAITING.items()
    )


def lose_database(service: ServiceProcess) -> None:
    service.caller().get("/engagements")
    # Not the file of shared memory: without its content the processes would crash.
    for file in (service.data_dir / "cqe.db", service.data_dir / "cqe.db-wal"):
        file.write_bytes(b"x" * 100_000)


def test_a_bell_that_meets_a_lost_database_is_one_warning(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "data").wait_ready()
    settings = Settings(data_dir=tmp_path / "data")
    try:
        lose_database(service)
        assert Doorbell(redis_url(settings)).ring(Bell(QUEUE, new_id("exp")))
        waits = ("exports", f"the jobs of {QUEUE} have to wait: The database is damaged.")
        wait_until(lambda: waits in warnings(service), describe=lambda: service.text)
    finally:
        service.end()
    assert "Traceback" not in service.text


def test_what_waits_for_the_database_is_logged_once_a_minute(tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path / "data", CQE_REDIS_URL="none").wait_ready()
    began = time.monotonic()
    try:
        lose_database(service)
        wait_until(lambda: all_wait(service), describe=lambda: service.text)
        time.sleep(TRIED_AGAIN_S)
    finally:
        service.end()
    minutes_begun = 1 + int((time.monotonic() - began) // 60)
    assert "Traceback" not in service.text
    assert max(warnings(service).values()) <= minutes_begun
