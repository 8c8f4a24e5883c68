"""Joins of pairs whose workers are killed: one recording comes of both sides, and none is left."""

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import select

from app.audio_files import jobs
from app.audio_files.models import AudioFile, WaveformJob
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.wiring import build_runtime
from cqe_client import Client
from tests import commit_halts
from tests.caller import Caller
from tests.forked import ForkedProcess
from tests.recordings import show, sides_kept, split_call, stored_file, sweep_after_a_day
from tests.waiting import wait_until


def run_one(settings: Settings) -> None:
    """Join a pair in a process of its own."""
    commit_halts.obey(commit_halts.anything)
    jobs.draw_waveform(build_runtime(settings), "")


@pytest.mark.parametrize(
    "moment",
    [
        "before_commit:3",  # joined, but not stored
        "before_commit:4",  # stored, but not noted
        "after_commit:4",  # noted, but the job has not ended
        "after_commit:5",  # ended, but the sides are not deleted
    ],
)
def test_a_pair_survives_its_killed_join(
    client: Caller, runtime: Runtime, tmp_path: Path, moment: str
) -> None:
    split_call(tmp_path, "agent.wav", "customer.wav")
    with Client(client.base, client.api_key, client.secret) as api:
        audio_file_id = api.upload_pair(tmp_path / "agent.wav", tmp_path / "customer.wav")
    log = tmp_path / "job.log"
    worker = ForkedProcess(run_one, runtime.settings, environment={"HALT_AT": moment}, output=log)
    wait_until(lambda: commit_halts.WORD in log.read_text())
    worker.kill()
    assert worker.wait() == -9
    assert len(sides_kept(runtime)) == 2
    with runtime.db.writing() as session:
        for job in session.scalars(select(WaveformJob)):
            if job.lease_until is not None:
                job.lease_until = job.queued_at
    jobs.draw_waveform(runtime, "")
    made = show(client, audio_file_id)
    assert (made["status"], made["error"]) == ("uploaded", None)
    with runtime.db.reading() as session:
        sha256 = session.scalars(select(AudioFile.sha256)).one()
    whole = (stored_file(runtime, audio_file_id) or Path()).read_bytes()
    assert (hashlib.sha256(whole).hexdigest(), len(whole)) == (sha256, made["sizeBytes"])
    sweep_after_a_day(runtime)
    assert sides_kept(runtime) == set()
