"""Disk space: what would leave too little of it, or is beyond the plan, is refused before it is kept."""

import shutil
import sqlite3
from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine
from sqlalchemy import event, update

from app.analytics import jobs as exports
from app.audio_files import jobs
from app.audio_files.models import AudioFileTotal
from app.core.clock import utc_now
from tests.caller import Caller, error_code
from tests.recordings import reserve, send, show, upload
from tests.running import running_runtime

MORE_THAN_ANY_DISK_GB = 1e6
TWO_GIB = 2 * 1024**3
RECORDING = {"fileName": "call.wav", "contentType": "audio/wav"}

Serve = Callable[..., str]
MakeCaller = Callable[..., Caller]


@pytest.fixture
def full(serve: Serve, make_caller: MakeCaller) -> Caller:
    """A caller of a service whose disk is full."""
    return make_caller(serve(min_free_gb=MORE_THAN_ANY_DISK_GB))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/audio-files/upload-url", {**RECORDING, "sizeBytes": 10}),
        ("/analytics/export", {"dataset": "evaluations", "format": "csv"}),
        ("/imports", {"format": "native", "items": [{"kind": "campaign", "externalId": "c"}]}),
        ("/imports/imp_01k9zq2m5rt9w3x7b1f6e8nvha", {}),
    ],
)
def test_nothing_that_needs_space_is_accepted_on_a_full_disk(
    full: Caller, path: str, body: dict[str, object]
) -> None:
    answer = full.post(path, body)
    assert (answer.status_code, error_code(answer)) == (503, "SERVICE_UNAVAILABLE")
    assert "disk space" in answer.json()["error"]["message"]
    assert answer.headers["Retry-After"] == str(answer.json()["error"]["retryAfter"]) == "60"


def test_health_says_that_the_disk_is_full(full: Caller) -> None:
    answer = full.plain("GET", "/health")
    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert answer.json()["checks"]["disk"] == "failing"
    assert answer.json()["checks"]["database"] == "ok"


@pytest.mark.sqlite_only("limits the size of the file")
def test_a_write_that_the_database_has_no_space_for_says_so(client: Caller) -> None:
    engine = running_runtime().db.engine
    engine.dispose()

    def limit_size(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")

    event.listen(engine, "connect", limit_size)
    statuses = set()
    for _ in range(200):
        answer = client.post("/engagements", {"name": "A" * 200, "type": "audit"})
        statuses.add(answer.status_code)
        if answer.status_code != 201:
            break
    event.remove(engine, "connect", limit_size)
    engine.dispose()
    assert statuses == {201, 503}
    assert "disk space" in answer.json()["error"]["message"]
    assert client.post("/engagements", {"name": "A", "type": "audit"}).status_code == 201


def test_an_upload_is_refused_when_the_disk_fills_up_after_its_reservation(
    serve: Serve, make_caller: MakeCaller
) -> None:
    client = make_caller(serve())
    reserved = reserve(client, 10)
    base = serve(min_free_gb=MORE_THAN_ANY_DISK_GB)
    refused = send(
        {**reserved, "uploadUrl": reserved["uploadUrl"].replace(client.base, base)}, b"x" * 10
    )
    assert (refused.status_code, error_code(refused)) == (503, "SERVICE_UNAVAILABLE")
    assert not [
        each
        for each in (running_runtime().settings.data_dir / "storage").rglob("*")
        if each.is_file()
    ]
    assert send(reserved, b"x" * 10).status_code == 201


def test_what_is_reserved_counts_as_taken(
    serve: Serve, make_caller: MakeCaller, data_dir: object
) -> None:
    free_gb = shutil.disk_usage(str(data_dir)).free / 1e9
    client = make_caller(serve(min_free_gb=free_gb - 15))
    body = {**RECORDING, "sizeBytes": TWO_GIB}
    statuses = [client.post("/audio-files/upload-url", body).status_code for _ in range(12)]
    assert statuses[0] == 201
    assert statuses[-1] == 503


def test_an_export_waits_until_there_is_space(serve: Serve, make_caller: MakeCaller) -> None:
    client = make_caller(serve())
    body = {"dataset": "evaluations", "format": "csv"}
    job_id = client.post("/analytics/export", body).json()["data"]["jobId"]
    serve(min_free_gb=MORE_THAN_ANY_DISK_GB)
    exports.run_export(running_runtime(), job_id)
    assert client.get(f"/analytics/export/{job_id}").json()["data"]["status"] == "queued"
    serve()
    with time_machine.travel(utc_now() + timedelta(minutes=5), tick=True):
        exports.run_export(running_runtime(), job_id)
        assert client.get(f"/analytics/export/{job_id}").json()["data"]["status"] == "ready"


def test_exports_are_forgotten_after_90_days(client: Caller) -> None:
    body = {"dataset": "evaluations", "format": "csv"}
    job_id = client.post("/analytics/export", body).json()["data"]["jobId"]
    exports.run_export(running_runtime(), job_id)
    with time_machine.travel(utc_now() + timedelta(days=89), tick=True):
        exports.purge_exports(running_runtime())
        exports.purge_export_rows(running_runtime())
        assert client.get(f"/analytics/export/{job_id}").json()["data"]["status"] == "expired"
    with time_machine.travel(utc_now() + timedelta(days=91), tick=True):
        exports.purge_export_rows(running_runtime())
        assert client.get(f"/analytics/export/{job_id}").status_code == 404


def total_count(client: Caller) -> int:
    return int(client.get("/audio-files").json()["pagination"]["totalCount"])


def test_uploads_beyond_an_enforced_plan_are_refused(serve: Serve, make_caller: MakeCaller) -> None:
    client = make_caller(serve(plan_storage_gb=100 / 1e9, plan_storage_enforced=True))
    upload(client, b"x" * 60)
    reserve(client, 40)
    refused = client.post("/audio-files/upload-url", {**RECORDING, "sizeBytes": 1})
    assert (refused.status_code, error_code(refused)) == (409, "CONFLICT")
    assert "plan's storage" in refused.json()["error"]["message"]


def test_a_plan_that_is_not_enforced_refuses_nothing(serve: Serve, make_caller: MakeCaller) -> None:
    client = make_caller(serve(plan_storage_gb=0))
    upload(client, b"x" * 60)


def test_uploads_that_never_came_are_forgotten_after_a_week(client: Caller) -> None:
    never_came = reserve(client, 10)["audioFileId"]
    uploaded = upload(client, b"x" * 10)
    with time_machine.travel(utc_now() + timedelta(hours=1), tick=True):
        assert jobs.expire_uploads(running_runtime()) == 1
        assert jobs.purge_expired_uploads(running_runtime()) == 0
    assert show(client, never_came)["status"] == "expired"
    assert total_count(client) == 2
    with time_machine.travel(utc_now() + timedelta(days=8), tick=True):
        assert jobs.purge_expired_uploads(running_runtime()) == 1
    assert client.get(f"/audio-files/{never_came}").status_code == 404
    assert total_count(client) == 1
    with running_runtime().db.writing() as session:
        session.execute(update(AudioFileTotal).values(quantity=0))  # as an older version left it
    jobs.measure_storage(running_runtime())
    assert total_count(client) == 1
    assert show(client, uploaded)["status"] == "uploaded"
