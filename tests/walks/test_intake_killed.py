"""Deliveries of sources whose jobs are killed: what was answered as accepted is stored, once."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from sqlalchemy import select

from app.core.runtime import Runtime
from app.core.settings import Settings
from app.intake import jobs
from app.intake.models import IntakeDelivery
from app.wiring import build_runtime
from tests import commit_halts
from tests.caller import Caller
from tests.forked import ForkedProcess
from tests.intake_requests import RETELL, SECRET, signed
from tests.visitor import signed_in
from tests.waiting import wait_until


def run_one(settings: Settings) -> None:
    """Run a delivery in a process of its own."""
    commit_halts.obey(commit_halts.anything)
    jobs.run_intake(build_runtime(settings), "")


@pytest.fixture
def accepted(serve: Callable[..., str], runtime: Runtime) -> str:
    """The id of a call that was answered as accepted, and whose job has not begun."""
    base = serve()
    signed_in(base, runtime, "admin").post("/sources/retell", {"secret": SECRET})
    request = signed("retell", RETELL, time.time())
    answer = requests.post(
        f"{base}/intake/retell", data=request.body, headers=request.headers, timeout=30
    )
    assert answer.json()["data"]["status"] == "accepted"
    return "Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6"


@pytest.mark.parametrize("moment", ["before_commit:2", "after_commit:2", "after_commit:1"])
def test_a_delivery_survives_its_killed_job(
    client: Caller, runtime: Runtime, accepted: str, tmp_path: Path, moment: str
) -> None:
    log = tmp_path / "job.log"
    worker = ForkedProcess(run_one, runtime.settings, environment={"HALT_AT": moment}, output=log)
    wait_until(lambda: commit_halts.WORD in log.read_text())
    worker.kill()
    assert worker.wait() == -9
    with runtime.db.writing() as session:
        (row,) = session.scalars(select(IntakeDelivery))
        if row.lease_until is not None:
            row.lease_until = row.queued_at
    jobs.run_intake(runtime, "")
    (call,) = client.get("/voice-calls").json()["data"]
    assert call["externalId"] == accepted
    (evaluation,) = client.get("/evaluations").json()["data"]
    assert evaluation["sourceId"] == call["id"]
    with runtime.db.reading() as session:
        (row,) = session.scalars(select(IntakeDelivery))
        assert (row.state, row.outcome, row.sealed_body) == ("succeeded", "created", None)
