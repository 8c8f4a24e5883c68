"""Signed URLs: uploads, downloads, ranges and refused links."""

import hashlib
import io
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
import requests
from sqlalchemy import delete

from app.audio_files.models import AudioFile, ProcessingJob
from app.core.runtime import Runtime
from tests.caller import Caller, error_code, send_chunked
from tests.recordings import progress, reserve, send, show, upload
from tests.waiting import wait_until

BODY = bytes(range(256)) * 8


def altered(url: str, **changes: str) -> str:
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), **changes}
    return parts._replace(query=urlencode(query)).geturl()


def download_url(client: Caller, audio_file_id: str) -> str:
    answer = client.get(f"/audio-files/{audio_file_id}/download-url")
    assert answer.status_code == 200
    return str(answer.json()["data"]["downloadUrl"])


def fetch(url: str, **kwargs: Any) -> requests.Response:
    return requests.get(url, timeout=30, **kwargs)


def stored_files(runtime: Runtime) -> list[str]:
    root = runtime.settings.data_dir / "storage"
    return [str(file) for file in root.rglob("*") if file.is_file()]


def test_an_upload_is_stored_once(client: Caller) -> None:
    reserved = reserve(client, len(BODY))
    answer = send(reserved, BODY)
    assert answer.status_code == 201
    assert answer.json()["data"] == {
        "sizeBytes": len(BODY),
        "sha256": hashlib.sha256(BODY).hexdigest(),
    }
    shown = show(client, reserved["audioFileId"])
    assert shown["status"] == "uploaded"
    assert shown["sha256"] == hashlib.sha256(BODY).hexdigest()
    assert shown["expiresAt"] is None
    again = send(reserved, b"x" * len(BODY))
    assert (again.status_code, error_code(again)) == (409, "CONFLICT")
    assert fetch(download_url(client, reserved["audioFileId"])).content == BODY


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sig", "AAAA"),
        ("se", "2099-01-01T00:00:00.000Z"),
        ("ct", "text/html"),
        ("cl", "999999999"),
        ("sp", "r"),
        ("kid", "k9"),
        ("sh", "0" * 64),
    ],
)
def test_an_altered_url_is_refused(client: Caller, name: str, value: str) -> None:
    reserved = reserve(client, len(BODY))
    answer = send({**reserved, "uploadUrl": altered(reserved["uploadUrl"], **{name: value})}, BODY)
    assert (answer.status_code, error_code(answer)) == (403, "URL_SIGNATURE_INVALID")
    assert show(client, reserved["audioFileId"])["status"] == "pending_upload"


def test_a_url_is_valid_for_one_object_and_one_method(client: Caller) -> None:
    first, second = reserve(client, len(BODY)), reserve(client, len(BODY))
    moved = first["uploadUrl"].replace(first["audioFileId"], second["audioFileId"])
    assert error_code(send({**first, "uploadUrl": moved}, BODY)) == "URL_SIGNATURE_INVALID"
    assert error_code(fetch(first["uploadUrl"])) == "URL_SIGNATURE_INVALID"
    assert send(first, BODY).status_code == 201
    link = download_url(client, first["audioFileId"])
    assert error_code(send({**first, "uploadUrl": link}, BODY)) == "URL_SIGNATURE_INVALID"


def test_an_expired_url_is_refused(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(url_ttl_s=1))
    reserved = reserve(client, len(BODY))
    time.sleep(1.1)
    answer = send(reserved, BODY)
    assert (answer.status_code, error_code(answer)) == (403, "URL_EXPIRED")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (BODY + b"x", {}, 413),
        (BODY[:-1], {}, 422),
        (BODY, {"Content-Type": "audio/mpeg"}, 415),
        (BODY, {"Content-Encoding": "gzip"}, 415),
        (b"", {}, 422),
    ],
)
def test_an_upload_that_differs_from_its_reservation_is_refused(
    client: Caller, runtime: Runtime, body: bytes, headers: dict[str, str], status: int
) -> None:
    reserved = reserve(client, len(BODY))
    answer = send(reserved, body, **headers)
    assert answer.status_code == status
    assert error_code(answer)
    assert stored_files(runtime) == []
    assert send(reserved, BODY).status_code == 201


def test_a_body_without_a_length_is_refused(client: Caller) -> None:
    reserved = reserve(client, len(BODY))
    answer = send_chunked("PUT", reserved["uploadUrl"], reserved["headers"], BODY)
    assert answer == (411, "LENGTH_REQUIRED")


def test_an_upload_with_another_hash_is_deleted(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, len(BODY), sha256=hashlib.sha256(BODY).hexdigest().upper())
    answer = send(reserved, BODY[::-1])
    assert (answer.status_code, error_code(answer)) == (422, "VALIDATION_ERROR")
    assert stored_files(runtime) == []
    assert send(reserved, BODY).status_code == 201


def test_an_interrupted_upload_leaves_no_file(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, 1_000_000)
    parts = urlsplit(reserved["uploadUrl"])
    with socket.create_connection((parts.hostname, parts.port)) as raw:
        raw.sendall(
            f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            "Content-Type: audio/wav\r\nContent-Length: 1000000\r\n\r\n".encode()
            + b"x" * 300_000
        )
        wait_until(lambda: len(stored_files(runtime)) == 1)
    wait_until(lambda: stored_files(runtime) == [])
    assert show(client, reserved["audioFileId"])["status"] == "pending_upload"


def test_a_download_is_an_attachment_without_active_content(client: Caller) -> None:
    audio_file_id = upload(client, BODY, fileName='Müller "call" 1.wav')
    link = download_url(client, audio_file_id)
    answer = fetch(link)
    assert answer.content == BODY
    assert answer.headers["Content-Type"] == "audio/wav"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="Muller _call_ 1.wav"; '
        "filename*=UTF-8''M%C3%BCller%20%22call%22%201.wav"
    )
    head = requests.head(link, timeout=30)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(BODY))


@pytest.mark.parametrize(
    ("file_name", "content_type", "saved_as"),
    [
        ("call.wav", "audio/wav", "call.wav"),
        ("CALL.MP3", "audio/mpeg", "CALL.MP3"),
        ("call.exe", "audio/wav", "call.exe.wav"),
        ("call", "audio/ogg", "call.ogg"),
    ],
)
def test_a_download_has_an_extension_of_its_type(
    client: Caller, file_name: str, content_type: str, saved_as: str
) -> None:
    audio_file_id = upload(client, BODY, fileName=file_name, contentType=content_type)
    answer = fetch(download_url(client, audio_file_id))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{saved_as}"'
    assert show(client, audio_file_id)["fileName"] == file_name


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.2", "[::1]:8000"])
def test_links_use_the_host_of_the_request(client: Caller, host: str) -> None:
    audio_file_id = upload(client, BODY)
    answer = client.get(f"/audio-files/{audio_file_id}/download-url", headers={"Host": host})
    assert answer.json()["data"]["downloadUrl"].startswith(f"http://{host}/storage/v1/")


@pytest.mark.parametrize("host", ["evil.example", "203.0.113.5:8000", "localhost.evil.example"])
def test_links_never_use_an_unknown_host(client: Caller, host: str) -> None:
    audio_file_id = upload(client, BODY)
    answer = client.get(f"/audio-files/{audio_file_id}/download-url", headers={"Host": host})
    assert (answer.status_code, error_code(answer)) == (400, "MALFORMED_REQUEST")
    assert "CQE_PUBLIC_URL" in answer.json()["error"]["message"]


def test_links_use_the_public_url_if_it_is_set(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(public_url="https://cqe.example.com")
    headers = {"Host": "evil.example"}
    body = {"fileName": "call.wav", "contentType": "audio/wav", "sizeBytes": 10}
    answer = make_caller(base).post("/audio-files/upload-url", body, headers=headers)
    assert answer.json()["data"]["uploadUrl"].startswith("https://cqe.example.com/storage/v1/")


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-99", 10, 100),
        ("bytes=2000-", 2000, 2048),
        ("bytes=2000-999999", 2000, 2048),
        ("bytes=-8", 2040, 2048),
        ("bytes=-999999", 0, 2048),
    ],
)
def test_a_range_is_answered_with_206(client: Caller, asked: str, start: int, stop: int) -> None:
    answer = fetch(download_url(client, upload(client, BODY)), headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == BODY[start:stop]
    assert answer.headers["Content-Range"] == f"bytes {start}-{stop - 1}/2048"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "lines=1-2", "bytes=x", "bytes=5-1"])
def test_an_invalid_range_returns_the_whole_file(client: Caller, asked: str) -> None:
    answer = fetch(download_url(client, upload(client, BODY)), headers={"Range": asked})
    assert (answer.status_code, answer.content) == (200, BODY)


def test_a_range_after_the_end_is_416(client: Caller) -> None:
    link = download_url(client, upload(client, BODY))
    answer = fetch(link, headers={"Range": "bytes=2048-"})
    assert (answer.status_code, error_code(answer)) == (416, "RANGE_NOT_SATISFIABLE")
    assert answer.headers["Content-Range"] == "bytes */2048"


def test_a_current_etag_is_answered_with_304(client: Caller) -> None:
    link = download_url(client, upload(client, BODY))
    etag = fetch(link).headers["ETag"]
    assert fetch(link, headers={"If-None-Match": etag}).status_code == 304
    part = {"Range": "bytes=0-0"}
    assert fetch(link, headers={**part, "If-Range": etag}).status_code == 206
    assert fetch(link, headers={**part, "If-Range": '"other"'}).status_code == 200


def test_transfer_slots_are_released(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(threads=3))
    link = download_url(client, upload(client, BODY))
    etag = fetch(link).headers["ETag"]
    for headers in ({}, {"Range": "bytes=1-2"}, {"Range": "bytes=9999-"}, {"If-None-Match": etag}):
        assert fetch(link, headers=headers).status_code in (200, 206, 304, 416)
    assert fetch(link).status_code == 200


def test_a_url_is_invalid_once_its_row_is_deleted(client: Caller, runtime: Runtime) -> None:
    waiting = reserve(client, len(BODY))
    audio_file_id = upload(client, BODY)
    link = download_url(client, audio_file_id)
    with runtime.db.writing() as session:
        session.execute(delete(ProcessingJob))
        session.execute(delete(AudioFile))
    for answer in (fetch(link), send(waiting, BODY)):
        assert (answer.status_code, error_code(answer)) == (404, "RESOURCE_NOT_FOUND")


def test_an_interrupted_upload_is_recorded_when_the_recording_is_read(
    client: Caller, runtime: Runtime
) -> None:
    reserved = reserve(client, len(BODY), autoProcess=True)
    runtime.storage.write(reserved["audioFileId"], io.BytesIO(BODY), size_bytes=len(BODY))
    assert progress(client, reserved["audioFileId"])["status"] == "queued"
    assert show(client, reserved["audioFileId"])["sha256"] == hashlib.sha256(BODY).hexdigest()


def test_other_methods_are_405_with_the_allowed_ones(client: Caller) -> None:
    answer = requests.post(reserve(client)["uploadUrl"], data=b"x", timeout=30)
    assert (answer.status_code, error_code(answer)) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, PUT"
