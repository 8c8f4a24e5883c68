"""Pairs: both sides of a call are uploaded, and joined to one recording or refused with a reason."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from app.audio_files import jobs
from app.audio_files.models import AudioFile, WaveformJob
from app.core.clock import utc_now
from app.core.jobs.leases import JobState
from app.core.runtime import Runtime
from app.privacy import jobs as erasures
from app.privacy import service
from tests.caller import Caller, findings
from tests.own_scorecards import create
from tests.recordings import (
    CALL,
    SILENCE,
    send,
    show,
    sides_kept,
    split_call,
    sweep_after_a_day,
)

pytestmark = pytest.mark.sql

Halves = tuple[bytes, bytes]


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Halves:
    """The agent's and the customer's side of a call, as WAV."""
    folder = tmp_path_factory.mktemp("sides")
    split_call(folder, "agent.wav", "customer.wav")
    return (folder / "agent.wav").read_bytes(), (folder / "customer.wav").read_bytes()


def reserve_pair(client: Caller, agent: bytes, customer: bytes, **fields: Any) -> dict[str, Any]:
    starts = fields.pop("starts", (None, None))
    sides = {
        role: {"contentType": "audio/wav", "sizeBytes": len(side), "recordedAt": start}
        for role, side, start in zip(("agent", "customer"), (agent, customer), starts, strict=True)
    }
    answer = client.post("/audio-files/pairs", {"fileName": "call.wav", **sides, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def sent_pair(client: Caller, agent: bytes, customer: bytes, **fields: Any) -> str:
    """Upload both sides and return the id of the recording."""
    reserved = reserve_pair(client, agent, customer, **fields)
    for role, side in (("customer", customer), ("agent", agent)):
        assert send(reserved[role], side).status_code == 201
    return str(reserved["audioFileId"])


def join(runtime: Runtime) -> None:
    [job_id] = jobs.due_waveform_ids(runtime)
    jobs.draw_waveform(runtime, job_id)


def test_both_sides_become_one_recording_that_the_chosen_scorecard_judges(
    client: Caller, runtime: Runtime, halves: Halves
) -> None:
    scorecard_id = create(client, channel="voice", name="Calls")["id"]
    starts = ("2026-11-21T09:00:02.500Z", "2026-11-21T09:00:00Z")
    audio_file_id = sent_pair(
        client, *halves, starts=starts, autoProcess=True, scorecardId=scorecard_id
    )
    waiting = show(client, audio_file_id)
    assert (waiting["status"], waiting["expiresAt"]) == ("pending_upload", None)
    sweep_after_a_day(runtime)
    join(runtime)
    assert sides_kept(runtime) == set()
    jobs.process_audio(runtime, "")
    made = show(client, audio_file_id)
    assert (made["status"], made["channels"]) == ("processed", 2)
    assert made["channelMap"] == {"agent": 0, "customer": 1}
    assert made["recordedAt"] == "2026-11-21T09:00:00.000Z"
    # 16,000 samples of two bytes for each channel, with the 2.5 s before the agent's side.
    assert made["sizeBytes"] == pytest.approx(2 * len(halves[0]) + 2.5 * 64_000, abs=1_000)
    judged = client.get(f"/evaluations/{made['evaluationId']}").json()["data"]
    assert judged["scorecardId"] == scorecard_id
    segments = client.get(f"/audio-files/{audio_file_id}/transcript").json()["data"]["segments"]
    said = {
        role: [s["text"] for s in segments if s["role"] == role] for role in ("agent", "customer")
    }
    assert any("Please hold" in text for text in said["agent"])
    assert not any("Please" in text for text in said["customer"])


def test_a_join_that_was_cut_off_loses_nothing(
    client: Caller, runtime: Runtime, halves: Halves
) -> None:
    reserved = reserve_pair(client, *halves)
    for role, side in zip(("agent", "customer"), halves, strict=True):
        object_id = f"{role}_{reserved['audioFileId'].removeprefix('aud_')}"
        (path := Path(runtime.settings.data_dir) / role).write_bytes(side)
        with path.open("rb") as source:  # as a process does that is killed before it has noted it
            runtime.storage.write(object_id, source, size_bytes=len(side))
    assert jobs.due_waveform_ids(runtime) == []
    jobs.expire_uploads(runtime)
    join(runtime)
    assert show(client, reserved["audioFileId"])["status"] == "uploaded"
    with runtime.db.writing() as session:  # killed before the job has ended
        session.execute(update(WaveformJob).values(state=JobState.QUEUED, completed_at=None))
    join(runtime)
    made = show(client, reserved["audioFileId"])
    assert (made["status"], made["error"]) == ("uploaded", None)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (CALL, "A file of a pair must have one channel"),
        (SILENCE, "they are not the sides of one call"),
        (Path(__file__), "recording"),
    ],
    ids=["two channels", "another length", "no sound"],
)
def test_sides_that_do_not_fit_end_with_the_reason(
    client: Caller, runtime: Runtime, halves: Halves, other: Path, reason: str
) -> None:
    audio_file_id = sent_pair(client, halves[0], other.read_bytes(), autoProcess=True)
    join(runtime)
    failed = show(client, audio_file_id)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "UNSUPPORTED_MEDIA")
    assert reason in failed["error"]["message"]
    assert len(sides_kept(runtime)) == 2
    sweep_after_a_day(runtime)
    assert sides_kept(runtime) == set()


def test_a_side_without_the_other_expires_and_an_erased_pair_is_deleted(
    client: Caller, runtime: Runtime, halves: Halves
) -> None:
    half, erased = (reserve_pair(client, *halves) for _ in range(2))
    for reserved in (half, erased):
        assert send(reserved["agent"], halves[0]).status_code == 201
    with runtime.db.writing() as session:
        service.erase_recordings(session, [erased["audioFileId"]])
    erasures.purge_bytes(runtime)
    assert sides_kept(runtime) == {half["audioFileId"].replace("aud", "agent")}
    assert send(erased["customer"], halves[1]).status_code == 404
    with runtime.db.writing() as session:
        session.execute(update(AudioFile).values(expires_at=utc_now() - timedelta(seconds=1)))
    jobs.expire_uploads(runtime)
    assert show(client, half["audioFileId"])["status"] == "expired"
    assert send(half["customer"], halves[1]).status_code == 404
    sweep_after_a_day(runtime)
    assert sides_kept(runtime) == set()
    with runtime.db.writing() as session:
        session.execute(update(AudioFile).values(updated_at=utc_now() - timedelta(days=8)))
    assert jobs.purge_expired_uploads(runtime) >= 1


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"customer": None}, ("customer", "REQUIRED")),
        ({"agent": {"contentType": "text/plain", "sizeBytes": 1}}, ("agent.contentType", "ENUM")),
        ({"channelMap": {"agent": 1}}, ("channelMap", "UNKNOWN")),
        ({"scorecardId": "sc_01jd3v8xqkf6r9w2m5t7h4c0pz"}, ("scorecardId", "FORMAT")),
    ],
)
def test_an_invalid_pair_is_reported_by_field(
    shared_client: Caller, change: dict[str, Any], found: tuple[str, str]
) -> None:
    side = {"contentType": "audio/wav", "sizeBytes": 4}
    body = {"fileName": "call.wav", "agent": side, "customer": side, **change}
    answer = shared_client.post(
        "/audio-files/pairs", {name: value for name, value in body.items() if value is not None}
    )
    assert answer.status_code == 422
    assert dict([found]).items() <= findings(answer).items()
