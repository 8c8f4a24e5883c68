"""Audio files: uploads, processing, failures, retries and the list."""

import io
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select, update

from app.audio_files import jobs
from app.audio_files.models import ProcessingJob
from app.audio_files.processing import steps
from app.core.clock import utc_now
from app.core.jobs import leases as core_leases
from app.core.jobs.leases import Lease, LeaseLost
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation
from app.events.models import Event
from app.transcript import Role, Segment, Transcript
from tests.caller import Caller, error_code, findings
from tests.own_scorecards import create
from tests.recordings import (
    AUDIO,
    CALL,
    MUSIC,
    SILENCE,
    SPEECH,
    ask,
    progress,
    reserve,
    show,
    upload,
    work,
)
from tests.running import running_runtime, stopped_by_signal

pytestmark = pytest.mark.long

ENGAGEMENT = "eng_01jd3v8xqkf6r9w2m5t7h4c0pz"


def happened(runtime: Runtime) -> list[str]:
    with runtime.db.reading() as session:
        return list(session.scalars(select(Event.type).order_by(Event.occurred_at, Event.id)))


def bodies(runtime: Runtime) -> list[dict[str, Any]]:
    with runtime.db.reading() as session:
        found = session.scalars(select(Event.body).order_by(Event.occurred_at, Event.id))
        return [orjson.loads(body)["data"] for body in found]


def stage_of(shown: dict[str, Any], name: str) -> dict[str, Any]:
    return next(stage for stage in shown["stages"] if stage["name"] == name)


def evaluation(client: Caller, audio: dict[str, Any]) -> dict[str, Any]:
    return dict(client.get(f"/evaluations/{audio['evaluationId']}").json()["data"])


def put(client: Caller, kind: str, name: str) -> str:
    made = client.call("PUT", f"/imports/{kind}/key", {"name": name})
    return str(made.json()["data"]["id"])


def claim(runtime: Runtime, job_id: str) -> Lease[ProcessingJob]:
    with runtime.db.writing() as session:
        taken = steps.claim(session, job_id)
        assert taken is not None
        steps.start(session, taken, max_duration_s=60)
        return taken


SAID = Transcript(
    segments=(Segment("seg_0001", 0, "speaker_1", Role.UNKNOWN, "Hello there.", 0, 900),),
    duration_ms=900,
    language="en",
)


# Uploads


def test_a_reserved_upload_is_pending(client: Caller, base: str) -> None:
    made = client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]
    fields = {
        "engagementId": made["id"],
        "externalId": "call 7",
        "language": "en-GB",
        "channelMap": {"agent": 1, "customer": 0},
        "recordedAt": "2026-11-20T10:00:00+01:00",
        "direction": "inbound",
        "labels": {"team": "north"},
    }
    reserved = reserve(client, 1234, **fields)
    assert reserved["uploadUrl"].startswith(f"{base}/storage/v1/{reserved['audioFileId']}?sv=1&")
    assert reserved["method"] == "PUT"
    assert reserved["headers"] == {"Content-Type": "audio/wav"}
    assert reserved["maxSizeBytes"] == 1234
    assert reserved["status"] == "pending_upload"
    shown = show(client, reserved["audioFileId"])
    assert {name: shown[name] for name in fields if name != "recordedAt"} == {
        name: value for name, value in fields.items() if name != "recordedAt"
    }
    assert shown["recordedAt"] == "2026-11-20T09:00:00.000Z"
    assert shown["expiresAt"] == reserved["expiresAt"]
    assert shown["evaluationId"] is None
    assert progress(client, reserved["audioFileId"])["stage"] == "upload"


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"contentType": "text/html"}, "contentType", "ENUM"),
        ({"sizeBytes": 0}, "sizeBytes", "RANGE"),
        ({"sizeBytes": 3 * 1024**3}, "sizeBytes", "RANGE"),
        ({"fileName": "../../etc/passwd"}, "fileName", "FORMAT"),
        ({"recordedAt": "9000-01-01T00:00:00Z"}, "recordedAt", "RANGE"),
        ({"sha256": "abc"}, "sha256", "FORMAT"),
        ({"engagementId": ENGAGEMENT}, "engagementId", "FORMAT"),
        ({"campaignId": ENGAGEMENT.replace("eng", "camp")}, "campaignId", "FORMAT"),
        ({"callCenterId": ENGAGEMENT.replace("eng", "cc")}, "callCenterId", "FORMAT"),
        ({"executiveId": ENGAGEMENT.replace("eng", "exec")}, "executiveId", "FORMAT"),
        ({"channelMap": {"agent": 0, "customer": 0}}, "channelMap.customer", "RANGE"),
        ({"channelMap": {"parrot": 0}}, "channelMap.parrot", "UNKNOWN"),
    ],
)
def test_an_invalid_reservation_is_reported_by_field(
    shared_client: Caller, fields: dict[str, Any], field: str, code: str
) -> None:
    body = {"fileName": "a.wav", "contentType": "audio/wav", "sizeBytes": 10, **fields}
    answer = shared_client.post("/audio-files/upload-url", body)
    assert answer.status_code == 422
    assert findings(answer) == {field: code}


def test_an_external_id_is_unique_until_its_upload_expires(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(url_ttl_s=1))
    first = reserve(client, externalId="one")
    body = {"fileName": "a.wav", "contentType": "audio/wav", "sizeBytes": 10, "externalId": "one"}
    answer = client.post("/audio-files/upload-url", body)
    assert (answer.status_code, error_code(answer)) == (409, "CONFLICT")
    time.sleep(1.1)
    assert jobs.expire_uploads(running_runtime()) == 1
    assert show(client, first["audioFileId"])["status"] == "expired"
    assert reserve(client, externalId="one")["status"] == "pending_upload"


# Processing


def test_a_call_is_transcribed_evaluated_and_published(client: Caller, runtime: Runtime) -> None:
    made = client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]
    named = {
        f"{kind[:-1].replace('-c', 'C')}Id": put(client, kind, name)
        for kind, name in (
            ("campaigns", "Spring"),
            ("call-centers", "Pune"),
            ("executives", "Asha"),
        )
    }
    audio_file_id = upload(client, CALL.read_bytes(), engagementId=made["id"], **named)
    seen = _watched(client, audio_file_id)
    percents = [percent for _, percent in seen]
    assert percents == sorted(percents)
    # Written after half a second for the first time.
    assert len({percent for status, percent in seen if status == "transcribing"}) >= 2
    audio = show(client, audio_file_id)
    assert audio["status"] == "processed"
    assert (audio["durationSeconds"], audio["channels"], audio["codec"]) == (29, 2, "pcm_mulaw")
    assert (audio["sampleRateHz"], audio["detectedLanguage"]) == (8000, "en")
    assert audio["hasTranscript"]
    judged = evaluation(client, audio)
    assert judged["status"] == "completed"
    assert judged["score"] == audio["score"]
    assert judged["durationSeconds"] == 29
    assert (judged["campaign"], judged["callCenter"]) == ("Spring", "Pune")
    assert judged["executive"] == "Asha"
    assert happened(runtime) == ["audio.transcribed", "evaluation.completed", "audio.processed"]
    heard, completed, processed = bodies(runtime)
    assert heard["segment_count"] > 3
    assert heard["engagement_id"] == made["id"]
    assert {each["campaign"] for each in (heard, completed, processed)} == {"Spring"}
    campaign = client.get(f"/campaigns/{named['campaignId']}").json()["data"]
    assert (campaign["counts"]["audioFiles"], campaign["counts"]["evaluations"]) == (1, 1)
    assert campaign["meanScore"] == audio["score"]
    assert completed["score"] == processed["score"] == audio["score"]
    assert processed["evaluation_id"] == completed["evaluation_id"] == audio["evaluationId"]
    transcript = client.get(f"/audio-files/{audio_file_id}/transcript").json()["data"]
    assert transcript["status"] == "completed"
    assert {segment["role"] for segment in transcript["segments"]} == {"agent", "customer"}
    shown = progress(client, audio_file_id)
    assert (shown["progress"], shown["stage"], shown["attempts"]) == (100, "notify", 1)
    assert [stage["status"] for stage in shown["stages"]] == ["done"] * 6
    _check_reprocessing(client, runtime, audio)


def _watched(client: Caller, audio_file_id: str) -> list[tuple[str, int]]:
    """Process the recording in a thread and return the statuses and percentages that polling sees."""
    worker = threading.Thread(
        target=jobs.process_audio, args=[running_runtime(), ask(client, audio_file_id)]
    )
    worker.start()
    seen = []
    while worker.is_alive():
        shown = progress(client, audio_file_id)
        seen.append((shown["status"], shown["progress"]))
        worker.join(0.1)
    return seen


def _check_reprocessing(client: Caller, runtime: Runtime, before: dict[str, Any]) -> None:
    """`force` makes a new revision of the evaluation without a second transcription."""
    path = f"/audio-files/{before['id']}/process"
    answer = client.post(path)
    assert (answer.status_code, error_code(answer)) == (409, "CONFLICT")
    after = work(client, before["id"], force=True)
    assert after["evaluationId"] != before["evaluationId"]
    assert after["score"] == before["score"]
    assert evaluation(client, after)["revision"] == 2
    assert happened(runtime).count("audio.transcribed") == 1
    assert happened(runtime).count("audio.processed") == 2
    skipped = [
        stage for stage in progress(client, before["id"])["stages"] if stage["attempts"] == 0
    ]
    assert {each["name"]: each["status"] for each in skipped} == {
        "decode": "skipped",
        "transcribe": "skipped",
        "redact": "skipped",
    }


def test_auto_process_queues_the_processing_after_the_upload(client: Caller) -> None:
    audio_file_id = upload(client, b"x" * 20, autoProcess=True)
    assert show(client, audio_file_id)["status"] == "queued"
    job_id = progress(client, audio_file_id)["jobId"]
    assert ask(client, audio_file_id) == job_id


# Requests


def test_a_second_request_returns_the_open_job(client: Caller, runtime: Runtime) -> None:
    audio_file_id = upload(client, b"x" * 20)
    first = client.post(f"/audio-files/{audio_file_id}/process").json()["data"]
    assert first["status"] == "queued"
    assert first["statusUrl"].endswith(f"/api/v1/audio-files/{audio_file_id}/processing-status")
    claim(runtime, first["jobId"])
    second = client.post(f"/audio-files/{audio_file_id}/process", {"force": True}).json()["data"]
    assert second["jobId"] == first["jobId"]
    assert second["status"] == "transcribing"


def test_invalid_processing_requests_are_refused(client: Caller) -> None:
    waiting = reserve(client)["audioFileId"]
    assert client.post(f"/audio-files/{waiting}/process").status_code == 409
    there = upload(client, b"x" * 20)
    for scorecard_id in (ENGAGEMENT.replace("eng", "sc"), create(client)["id"]):
        wrong = {"scorecardId": scorecard_id}
        answer = client.post(f"/audio-files/{there}/process", wrong)
        assert findings(answer) == {"scorecardId": "FORMAT"}
    assert show(client, there)["status"] == "uploaded"
    absent = ENGAGEMENT.replace("eng", "aud")
    for path in ("", "/transcript", "/processing-status", "/download-url"):
        assert client.get(f"/audio-files/{absent}{path}").status_code == 404
    assert client.post(f"/audio-files/{absent}/process").status_code == 404
    assert client.get(f"/audio-files/{waiting}/download-url").status_code == 409


def test_each_endpoint_requires_its_scope(
    base: str, make_caller: Callable[..., Caller], client: Caller
) -> None:
    audio_file_id = upload(client, b"x" * 20)
    reader = make_caller(base, scopes=["audio:read"])
    one = f"/audio-files/{audio_file_id}"
    for path in ("/audio-files", one, f"{one}/transcript", f"{one}/processing-status"):
        assert reader.get(path).status_code == 200
    assert error_code(reader.get(f"{one}/download-url")) == "INSUFFICIENT_SCOPE"
    assert error_code(reader.post(f"{one}/process")) == "INSUFFICIENT_SCOPE"
    assert error_code(reader.post("/audio-files/upload-url", {})) == "INSUFFICIENT_SCOPE"
    listener = make_caller(base, scopes=["audio:download"])
    assert error_code(listener.get(f"{one}/download-url")) == "CONFLICT", "it is an original"


def test_high_priority_runs_first(client: Caller, runtime: Runtime) -> None:
    normal = ask(client, upload(client, b"x" * 20))
    high = ask(client, upload(client, b"x" * 20), priority="high")
    assert jobs.due_ids(runtime) == [high, normal]
    assert claim(runtime, normal).job_id == high
    assert claim(runtime, high).job_id == normal


# Failures

HOSTILE = {
    "ffconcat": b"ffconcat version 1.0\nfile 'jfk.mp3'\n",
    "playlist": b"#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:9,\nhttp://127.0.0.1:1/a.ts\n",
    "two bytes": b"\xff\xfb",
    "html": b"<html><script>alert(1)</script></html>",
    "cut short": CALL.read_bytes()[:60_000],
    "a header alone": CALL.read_bytes()[:44],
    "another type": SPEECH.read_bytes(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_fails_and_says_so(
    client: Caller, runtime: Runtime, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    audio = work(client, upload(client, HOSTILE[name]))
    assert [each.levelname for each in caplog.records if "the job" in each.message] == ["WARNING"]
    assert audio["status"] == "failed"
    assert audio["error"]["code"] in ("UNSUPPORTED_MEDIA", "NO_AUDIO_STREAM")
    assert "/" not in audio["error"]["message"]
    judged = evaluation(client, audio)
    assert judged["status"] == "failed"
    assert judged["error"]["code"] == "TRANSCRIPTION_FAILED"
    assert stage_of(progress(client, audio["id"]), "decode")["status"] == "failed"
    assert client.get(f"/audio-files/{audio['id']}/transcript").json()["data"]["segments"] == []
    assert happened(runtime) == ["conversation.failed"]


@pytest.mark.parametrize("sound", [SILENCE, MUSIC], ids=["silence", "music"])
def test_a_recording_without_speech_fails(client: Caller, runtime: Runtime, sound: Path) -> None:
    audio = work(client, upload(client, sound.read_bytes()))
    assert (audio["status"], audio["error"]["code"]) == ("failed", "EMPTY_TRANSCRIPT")
    assert audio["error"]["message"].startswith("No speech")
    assert evaluation(client, audio)["error"]["code"] == "EMPTY_TRANSCRIPT"
    assert happened(runtime) == ["conversation.failed"]


def test_an_unsupported_language_fails(client: Caller) -> None:
    speech = upload(client, SPEECH.read_bytes(), contentType="audio/mpeg")
    audio = work(client, speech, language="ga-IE")  # which neither model knows
    assert (audio["status"], audio["error"]["code"]) == ("failed", "UNSUPPORTED_LANGUAGE")
    assert "use a transcription server" in audio["error"]["message"]
    assert evaluation(client, audio)["error"]["code"] == "UNSUPPORTED_LANGUAGE"
    assert audio["language"] == "ga-IE"


def test_a_recording_that_is_too_long_fails(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(audio_max_duration_s=3))
    audio = work(client, upload(client, SPEECH.read_bytes(), contentType="audio/mpeg"))
    assert (audio["status"], audio["error"]["code"]) == ("failed", "TOO_LONG")


def test_a_missing_model_fails_and_can_be_retried(
    serve: Callable[..., str], make_caller: Callable[..., Caller], tmp_path: Any
) -> None:
    client = make_caller(serve(speech_model_dir=str(tmp_path)))
    audio = work(client, upload(client, SILENCE.read_bytes()))
    assert (audio["status"], audio["error"]["code"]) == ("failed", "MODEL_MISSING")
    assert evaluation(client, audio)["error"]["code"] == "ENGINE_UNAVAILABLE"
    assert ask(client, audio["id"])
    assert show(client, audio["id"])["status"] == "queued"


def test_a_missing_stored_file_fails(client: Caller, runtime: Runtime) -> None:
    audio_file_id = upload(client, b"x" * 20)
    runtime.storage.delete(audio_file_id)
    assert work(client, audio_file_id)["error"]["code"] == "BYTES_MISSING"


def test_insufficient_content_fails_after_the_transcript_is_stored(
    client: Caller, runtime: Runtime
) -> None:
    audio_file_id = upload(client, b"x" * 20)
    job_id = ask(client, audio_file_id)
    with runtime.db.writing() as session:
        taken = steps.claim(session, job_id)
        assert taken is not None
        steps.start(session, taken, max_duration_s=60)
        steps.store_transcript(session, taken, SAID, None)
        steps.release(session, taken, utc_now(), counts=True)
    jobs.process_audio(running_runtime(), job_id)
    audio = show(client, audio_file_id)
    assert (audio["status"], audio["error"]["code"]) == ("failed", "INSUFFICIENT_CONTENT")
    assert evaluation(client, audio)["status"] == "failed"
    assert audio["hasTranscript"]
    assert progress(client, audio_file_id)["attempts"] == 2
    assert happened(runtime) == ["audio.transcribed", "conversation.failed"]


# Crashes, stops and lost leases


def test_a_running_job_is_not_claimed_again(client: Caller, runtime: Runtime) -> None:
    job_id = ask(client, upload(client, b"x" * 20))
    taken = claim(runtime, job_id)
    jobs.process_audio(running_runtime(), job_id)
    with runtime.db.reading() as session:
        row = session.get_one(ProcessingJob, job_id)
        assert (row.state, row.lease_token, row.attempts) == ("running", taken.token, 1)
    assert jobs.due_ids(runtime) == []


def test_a_job_of_a_dead_process_is_due_immediately(client: Caller, runtime: Runtime) -> None:
    job_id = ask(client, upload(client, b"x" * 20))
    claim(runtime, job_id)
    dead = subprocess.run(
        [sys.executable, "-c", "from app.core.process import owner; print(owner.this_process())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with runtime.db.writing() as session:
        session.execute(update(ProcessingJob).values(lease_owner=dead))
    assert jobs.due_ids(runtime) == [job_id]
    jobs.process_audio(running_runtime(), job_id)
    with runtime.db.reading() as session:
        row = session.get_one(ProcessingJob, job_id)
        assert (row.state, row.attempts) == ("failed", 2)


def test_a_worker_without_its_lease_writes_nothing(client: Caller, runtime: Runtime) -> None:
    audio_file_id = upload(client, b"x" * 20)
    job_id = ask(client, audio_file_id)
    late = claim(runtime, job_id)
    _lapse(runtime)
    current = claim(runtime, job_id)
    for write in (
        lambda session: steps.store_transcript(session, late, SAID, None),
        lambda session: steps.release(session, late, utc_now(), counts=False),
    ):
        with pytest.raises(LeaseLost), runtime.db.writing() as session:
            write(session)
    with runtime.db.writing() as session:
        assert not core_leases.note(session, late, progress=50)
        assert not core_leases.renew(session, late)
        assert core_leases.renew(session, current)
    assert happened(runtime) == []
    assert not show(client, audio_file_id)["hasTranscript"]


def test_a_job_that_is_interrupted_too_often_fails(client: Caller, runtime: Runtime) -> None:
    audio_file_id = upload(client, b"x" * 20)
    job_id = ask(client, audio_file_id)
    for _ in range(core_leases.MAX_ATTEMPTS):
        claim(runtime, job_id)
        _lapse(runtime)
    jobs.process_audio(running_runtime(), job_id)
    audio = show(client, audio_file_id)
    assert (audio["status"], audio["error"]["code"]) == ("failed", "INTERRUPTED")
    assert evaluation(client, audio)["error"]["code"] == "INTERNAL"


def test_a_canceled_evaluation_does_not_block_the_recording(
    client: Caller, runtime: Runtime
) -> None:
    audio_file_id = upload(client, b"x" * 20)
    job_id = ask(client, audio_file_id)
    with runtime.db.writing() as session:
        session.execute(update(Evaluation).values(status="canceled"))
    for _ in range(3):
        jobs.process_audio(running_runtime(), job_id)
        with runtime.db.writing() as session:
            session.execute(update(ProcessingJob).values(due_at=utc_now()))
    assert show(client, audio_file_id)["status"] == "failed"
    assert jobs.due_ids(runtime) == []


@pytest.fixture
def stop_requested() -> Iterator[None]:
    """Send SIGTERM to this process, as a worker receives it."""
    with stopped_by_signal():
        signal.raise_signal(signal.SIGTERM)
        yield


@pytest.mark.usefixtures("stop_requested")
def test_a_stop_releases_the_job_without_counting_the_attempt(
    client: Caller, runtime: Runtime
) -> None:
    audio_file_id = upload(client, SILENCE.read_bytes())
    job_id = ask(client, audio_file_id)
    jobs.process_audio(running_runtime(), job_id)
    audio = show(client, audio_file_id)
    assert audio["status"] == "queued"
    assert evaluation(client, audio)["status"] == "queued"
    shown = progress(client, audio_file_id)
    assert (shown["status"], shown["attempts"], shown["progress"]) == ("queued", 0, 0)
    assert jobs.due_ids(runtime) == [job_id]


def test_an_internal_error_is_retried_later(client: Caller, runtime: Runtime) -> None:
    audio_file_id = upload(client, b"x" * 20)
    job_id = ask(client, audio_file_id)
    # A file where the folder for decoded sound should be.
    (runtime.settings.data_dir / "spool").touch()
    for attempt in (1, 2, 3):
        jobs.process_audio(running_runtime(), job_id)
        assert progress(client, audio_file_id)["attempts"] == attempt
        assert jobs.due_ids(runtime) == []
        with runtime.db.writing() as session:
            session.execute(update(ProcessingJob).values(due_at=utc_now()))
    audio = show(client, audio_file_id)
    assert (audio["status"], audio["error"]["code"]) == ("failed", "INTERNAL")
    assert "spool" not in str(audio["error"])


def test_interrupted_uploads_are_recorded_later(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, 5)
    runtime.storage.write(reserved["audioFileId"], io.BytesIO(b"bytes"), size_bytes=5)
    assert jobs.reconcile_uploads(runtime) == 1
    listed = client.get("/audio-files").json()["data"]
    assert [row["status"] for row in listed] == ["uploaded"]
    assert jobs.reconcile_uploads(runtime) == 0


# Lists


def test_the_list_is_filtered_and_sorted(client: Caller) -> None:
    made = client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]
    small = upload(client, b"x" * 20, engagementId=made["id"], externalId="Ticket 7")
    large = upload(client, b"x" * 30, fileName="Straße.wav", language="en-GB")
    waiting = reserve(client)["audioFileId"]

    def found(**params: Any) -> list[str]:
        answer = client.get("/audio-files", params=params)
        assert answer.status_code == 200, answer.text
        return [row["id"] for row in answer.json()["data"]]

    assert found() == [waiting, large, small]
    assert found(status="uploaded,failed") == [large, small]
    assert found(engagementId=made["id"]) == [small]
    assert found(campaignId=ENGAGEMENT.replace("eng", "camp")) == []
    assert found(language="en") == [large]
    assert found(q="STRASSE") == [large]
    assert found(q="ticket") == [small]
    assert found(q="%") == []
    assert found(hasTranscript="false", sort="sizeBytes") == [small, large, waiting]
    assert found(minDuration=1) == []
    assert found(to=show(client, large)["createdAt"]) == [small]
    assert found(pageSize=1, page=2) == [large]
    for params in ({"statuss": "x"}, {"status": "gone"}, {"minDuration": 9, "maxDuration": 8}):
        assert client.get("/audio-files", params=params).status_code == 422


def test_every_accepted_content_type_is_processed(
    serve: Callable[..., str], make_caller: Callable[..., Caller], tmp_path: Any
) -> None:
    kinds = {
        "jfk.pcm16.wav": "audio/wav",
        "jfk.mp3": "audio/mpeg",
        "jfk.m4a": "audio/mp4",
        "jfk.ogg": "audio/ogg",
        "jfk.flac": "audio/flac",
        "jfk.webm": "audio/webm",
    }
    # Without a model the work ends once the sound is decoded, before it is heard.
    client = make_caller(serve(speech_model_dir=str(tmp_path)))
    for name, content_type in kinds.items():
        body = (AUDIO / "formats" / name).read_bytes()
        audio = work(client, upload(client, body, contentType=content_type))
        assert (audio["error"]["code"], audio["durationSeconds"]) == ("MODEL_MISSING", 11)


def _lapse(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        session.execute(update(ProcessingJob).values(lease_until=utc_now() - timedelta(seconds=1)))
