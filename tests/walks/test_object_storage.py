"""Recordings and exports in an object storage: straight uploads and downloads, outages, erasure."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from app.analytics import jobs as exports
from app.audio_files import jobs
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.core.storage.objects import ForeignStorage
from app.core.storage.opening import open_storage
from app.operations import background_work, first_start
from app.operations.backups import service as backups
from app.privacy import jobs as erasures
from app.privacy import service as privacy
from app.privacy.records import ErasureBatch, ErasureRecords
from app.system import checks
from tests import object_stores
from tests.caller import Caller, error_code
from tests.contacts import put_chat
from tests.object_stores import ObjectStore
from tests.recordings import SPEECH, ask, progress, reserve, send, show
from tests.running import running_runtime
from tests.silent_proxy import silent_proxy

BODY = SPEECH.read_bytes()
SERVERS = {"azure": object_stores.azure, "s3": object_stores.s3}


@pytest.fixture(scope="module", params=SERVERS)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStore]:
    """One server of each kind; the last test stops it."""
    with SERVERS[request.param](tmp_path_factory.mktemp("store")) as server:
        yield server


UPKEEP = "uploads of erased recordings"
Start = Callable[[ObjectStore], tuple[Caller, Runtime]]


@pytest.fixture
def start(serve: Callable[..., str], make_caller: Callable[..., Caller]) -> Start:
    def start(store: ObjectStore) -> tuple[Caller, Runtime]:
        return make_caller(serve(**store.settings)), running_runtime()

    return start


def reserved_for(client: Caller, body: bytes = BODY, **fields: Any) -> dict[str, Any]:
    return reserve(client, len(body), fileName="call 1.mp3", contentType="audio/mpeg", **fields)


def spool(runtime: Runtime) -> list[str]:
    return [file.name for file in (runtime.settings.data_dir / "spool").glob("*")]


def test_a_container_belongs_to_one_deployment(
    store: ObjectStore, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = make_settings(**store.settings)
    assert first_start.prepare(settings, access_file=None)["api_key"]
    assert not first_start.prepare(settings, access_file=None)["api_key"]
    other = make_settings(**store.settings, data_dir=tmp_path / "other", database_url="")
    other.data_dir.mkdir(mode=0o700)
    with pytest.raises(ForeignStorage, match=r"the marker dep_.* of another deployment"):
        first_start.prepare(other, access_file=None)


def test_a_missing_container_is_to_be_made(
    store: ObjectStore, make_settings: Callable[..., Settings]
) -> None:
    url = store.settings["storage_url"].replace("/some", "/else")
    settings = make_settings(**{**store.settings, "storage_url": url})
    first_start.prepare(settings, access_file=None)
    url = url.replace("cqe-test", "cqe-none")
    for data_dir in (settings.data_dir, settings.data_dir.parent / "new"):
        data_dir.mkdir(mode=0o700, exist_ok=True)
        missing = make_settings(**{**store.settings, "storage_url": url}, data_dir=data_dir)
        with pytest.raises(
            ForeignStorage, match=r"(container|bucket) cqe-none.* is missing: make it"
        ):
            first_start.prepare(missing, access_file=None)


def test_a_recording_is_uploaded_transcribed_and_erased(store: ObjectStore, start: Start) -> None:
    client, runtime = start(store)
    reserved = reserved_for(client, sha256=sha256(BODY).hexdigest())
    audio_file_id = reserved["audioFileId"]
    assert reserved["uploadUrl"].startswith(store.address)
    early = client.post(f"/audio-files/{audio_file_id}/complete")
    assert (early.status_code, error_code(early)) == (409, "CONFLICT")

    assert send(reserved, BODY).status_code in (200, 201)
    assert send(reserved, BODY).status_code in (403, 412), "a link takes one upload"
    done = client.post(f"/audio-files/{audio_file_id}/complete")
    assert done.json()["data"]["status"] == "uploaded"
    jobs.process_audio(runtime, ask(client, audio_file_id))
    processed = show(client, audio_file_id)
    # It is a speech: nothing of it can be judged.
    assert processed["error"]["code"] == "INSUFFICIENT_CONTENT"
    assert processed["sha256"] == sha256(BODY).hexdigest()
    wave = client.get(f"/audio-files/{audio_file_id}/waveform").json()["data"]
    assert wave["status"] == "ready"
    assert spool(runtime) == []

    link = client.get(f"/audio-files/{audio_file_id}/download-url").json()["data"]["downloadUrl"]
    redirect = requests.get(link, allow_redirects=False, timeout=30)
    assert redirect.status_code == 307
    assert redirect.headers["Location"].startswith(store.address)
    part = requests.get(link, headers={"Range": "bytes=10-19"}, timeout=30)
    assert (part.status_code, part.content) == (206, BODY[10:20])
    assert part.headers["Content-Type"] == "audio/mpeg"
    assert part.headers["Content-Disposition"] == 'attachment; filename="call 1.mp3"'
    assert requests.head(link, timeout=30).headers["Content-Length"] == str(len(BODY))

    with runtime.db.writing() as session:
        privacy.erase_recordings(session, [audio_file_id])
    erasures.purge_bytes(runtime)
    assert not [name for name in runtime.storage.object_ids() if name.endswith(audio_file_id[4:])]
    assert requests.get(redirect.headers["Location"], timeout=30).status_code in (403, 404)
    assert requests.get(link, timeout=30).status_code == 404


def test_an_upload_that_nobody_reports_is_found_and_processed(
    store: ObjectStore, start: Start
) -> None:
    client, runtime = start(store)
    reserved = reserved_for(client, autoProcess=True)
    send(reserved, BODY)
    jobs.expire_uploads(runtime)
    assert progress(client, reserved["audioFileId"])["status"] == "queued"
    assert (
        sum(
            background_work.delete_orphans(runtime, part)
            for part in range(background_work.ORPHAN_PARTS)
        )
        == 0
    )


def test_an_export_is_read_from_the_storage(store: ObjectStore, start: Start) -> None:
    client, runtime = start(store)
    asked = client.post("/analytics/export", {"dataset": "usage", "format": "csv"}).json()["data"]
    exports.run_export(runtime, asked["jobId"])
    shown = client.get(f"/analytics/export/{asked['jobId']}").json()["data"]
    sheet = requests.get(shown["downloadUrl"], timeout=30)
    assert sheet.url.startswith(store.address)
    assert sha256(sheet.content).hexdigest() == shown["sha256"]


def test_erasures_are_recorded_in_the_storage_and_repeated_after_a_restore(
    store: ObjectStore, start: Start, tmp_path: Path
) -> None:
    client, runtime = start(store)
    chats = [put_chat(client, f"chat-{number}") for number in range(2)]
    records = ErasureRecords.of(runtime)
    # The database knows the first erasure, and was restored to a moment before the second.
    known = client.post("/privacy/erase", {"customerRef": "nobody"}).json()["data"]["erasureId"]
    records.add(known, ErasureBatch("conversations", [chats[0]["id"]]))
    later = new_id("era")
    records.add(later, ErasureBatch("conversations", [chats[1]["id"]]))
    assert not (runtime.settings.data_dir / "erasures").exists()
    assert erasures.repeat_erasures(runtime) == 1
    assert erasures.repeat_erasures(runtime) == 0
    texts = [
        client.get(f"/conversations/{chat['id']}/messages").json()["data"][0]["text"]
        for chat in chats
    ]
    assert [bool(text) for text in texts] == [True, False]

    backups.backup(runtime.settings, tmp_path / "backup")
    copies = (tmp_path / "backup" / "erasures").iterdir()
    assert {copy.name.partition(".")[0] for copy in copies} == {known, later}


@pytest.mark.parametrize("is_uploaded", [False, True])
def test_an_upload_link_stores_nothing_of_an_erased_recording(
    store: ObjectStore, start: Start, *, is_uploaded: bool
) -> None:
    client, runtime = start(store)
    reserved = reserved_for(client, labels={"customerRef": "c-1"})
    audio_file_id = reserved["audioFileId"]
    if is_uploaded:
        send(reserved, BODY)
        client.post(f"/audio-files/{audio_file_id}/complete")
    erasure_id = client.post("/privacy/erase", {"customerRef": "c-1"}).json()["data"]["erasureId"]
    erasures.run_erasure(runtime, erasure_id)
    assert runtime.storage.size_of(audio_file_id) is None

    assert send(reserved, BODY).status_code in (200, 201), "the storage does not ask this service"
    assert show(client, audio_file_id)["status"] == "expired"
    kept = reserved_for(client)
    send(kept, BODY)
    upkeep = next(task for task in background_work.TASKS if task.name == UPKEEP)
    upkeep.run(runtime)
    assert runtime.storage.size_of(audio_file_id) is None
    assert runtime.storage.size_of(kept["audioFileId"]) == len(BODY)
    assert show(client, kept["audioFileId"])["status"] == "uploaded"


@pytest.mark.parametrize("store", ["azure"], indirect=True)
def test_a_file_other_than_announced_is_refused(store: ObjectStore, start: Start) -> None:
    client, runtime = start(store)
    other = reserved_for(client, sha256=sha256(b"another").hexdigest())
    send(other, BODY)
    jobs.process_audio(runtime, ask(client, other["audioFileId"]))
    assert show(client, other["audioFileId"])["error"]["code"] == "UPLOAD_MISMATCH"

    larger = reserved_for(client, BODY[:-1])
    send(larger, BODY)
    refused = show(client, larger["audioFileId"])
    assert (refused["status"], refused["error"]["code"]) == ("failed", "UPLOAD_MISMATCH")
    assert runtime.storage.size_of(larger["audioFileId"]) is None
    again = client.post(f"/audio-files/{larger['audioFileId']}/process", {})
    assert (again.status_code, error_code(again)) == (409, "CONFLICT")

    shorter = reserved_for(client, BODY + b"x")
    send(shorter, BODY)
    assert show(client, shorter["audioFileId"])["error"]["code"] == "UPLOAD_MISMATCH"


def storage_line(settings: Settings) -> str:
    """Return what `doctor` says of the storage."""
    (line,) = [each for each in checks.examine(settings) if each.check == "storage"]
    return f"{line.verdict}: {line.message}"


def test_doctor_asks_the_storage(
    store: ObjectStore, make_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    own = {
        **store.settings,
        "storage_url": store.settings["storage_url"].replace("/some", "/doctor"),
    }
    settings = make_settings(**own)
    open_storage(settings).write_marker("dep_of_another")
    assert storage_line(settings).startswith("ok: ")
    first_start.prepare(make_settings(), access_file=None)
    other = storage_line(settings)
    assert other.startswith("fail: ")
    assert "belongs to dep_" in other
    absent = settings.storage_url.replace("/cqe-test/", "/missing/").replace("//cqe-", "//none-")
    assert "is missing: make it" in storage_line(make_settings(**{**own, "storage_url": absent}))
    with silent_proxy("127.0.0.1", urlsplit(store.address).port or 0) as proxy:
        proxy.mute()
        silent = settings.storage_url.replace(store.address, f"http://127.0.0.1:{proxy.port}")
        said = storage_line(make_settings(**{**own, "storage_url": silent}))
    assert said.startswith("fail: ")
    assert "does not answer: " in said
    assert store.settings["storage_secret"] not in said
    assert "CQE_STORAGE_URL" in said


def test_jobs_wait_while_the_storage_is_away(store: ObjectStore, start: Start) -> None:
    client, runtime = start(store)
    reserved = reserved_for(client)
    send(reserved, BODY)
    job_id = ask(client, reserved["audioFileId"])
    store.stop()
    jobs.process_audio(runtime, job_id)
    waiting = progress(client, reserved["audioFileId"])
    assert (waiting["status"], waiting["error"]) == ("queued", None)
    link = client.get(f"/audio-files/{reserved['audioFileId']}/download-url").json()["data"]
    away = requests.get(link["downloadUrl"], timeout=60)
    assert (away.status_code, error_code(away)) == (503, "SERVICE_UNAVAILABLE")
    health = requests.get(f"{client.base}/health", timeout=60).json()
    assert health["checks"]["storage"] != "ok"
