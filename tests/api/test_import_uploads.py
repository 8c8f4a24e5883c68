"""Imports of files that are uploaded by signed URLs."""

import json
from datetime import timedelta
from typing import Any

import pytest
import requests
import time_machine

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.imports.jobs import forget_documents, orphaned, run_import
from tests.caller import Caller
from tests.happenings import data_of


def lines(number: int) -> bytes:
    records = [
        {"externalId": f"c{index}", "messages": [{"role": "agent", "text": "Hello."}]}
        for index in range(number)
    ]
    return "\n".join(map(json.dumps, records)).encode()


def reserve(client: Caller, data: bytes, **fields: Any) -> dict[str, Any]:
    body = {"fileName": "march.ndjson", "sizeBytes": len(data), "evaluate": False, **fields}
    answer = client.post("/imports/files/upload-url", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def send(reserved: dict[str, Any], data: bytes) -> requests.Response:
    return requests.put(reserved["uploadUrl"], data=data, headers=reserved["headers"], timeout=30)


def shown(client: Caller, import_id: str) -> dict[str, Any]:
    return dict(client.get(f"/imports/{import_id}").json()["data"])


def test_an_uploaded_file_is_imported_and_deleted(client: Caller, runtime: Runtime) -> None:
    # Larger than a body of JSON may be.
    data = lines(2) + b"\n" * 1_500_000
    reserved = reserve(client, data)
    import_id = reserved["importId"]
    assert shown(client, import_id)["status"] == "awaiting_upload"
    assert client.get("/imports?status=awaiting_upload").json()["data"][0]["id"] == import_id
    assert send(reserved, data).status_code == 201
    assert shown(client, import_id)["status"] == "queued"
    assert orphaned(runtime, [import_id]) == []
    run_import(runtime, import_id)
    ended = shown(client, import_id)
    assert (ended["status"], ended["counts"]["created"]) == ("completed", 2)
    assert runtime.storage.size_of(import_id) is None
    assert send(reserved, data).status_code == 404


def test_a_dry_run_of_a_file_is_confirmed(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, lines(3), dryRun=True)
    send(reserved, lines(3))
    run_import(runtime, reserved["importId"])
    assert client.get("/conversations").json()["data"] == []
    confirmed = client.post(f"/imports/{reserved['importId']}").json()["data"]
    run_import(runtime, confirmed["id"])
    assert shown(client, confirmed["id"])["counts"]["created"] == 3
    assert runtime.storage.size_of(reserved["importId"]) is None


def test_an_unknown_format_fails_the_import_and_says_why(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, b"Buy milk.", fileName="notes.txt")
    send(reserved, b"Buy milk.")
    run_import(runtime, reserved["importId"])
    failed = shown(client, reserved["importId"])
    assert failed["status"] == "failed"
    assert failed["error"]["code"] == "UNKNOWN_FORMAT"
    [data] = data_of(runtime, "conversation.failed")
    assert (data["source_type"], data["source_id"]) == ("import", reserved["importId"])
    assert data["code"] == "UNKNOWN_FORMAT"
    assert orphaned(runtime, [reserved["importId"]]) == [reserved["importId"]]


def test_a_file_that_never_arrives_leaves_nothing(client: Caller, runtime: Runtime) -> None:
    reserved = reserve(client, lines(1))
    with time_machine.travel(utc_now() + timedelta(hours=3)):
        forget_documents(runtime)
    assert client.get(f"/imports/{reserved['importId']}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"sizeBytes": 3 * 1024**3}, "sizeBytes"),
        ({"sha256": "abc"}, "sha256"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"defaults": {"campaignId": "camp_01k9zq4v2me8wb7xq3s5ndt6ha"}}, "defaults.campaignId"),
    ],
)
def test_a_wrong_request_names_the_field(
    shared_client: Caller, fields: dict[str, Any], named: str
) -> None:
    body = {"fileName": "march.ndjson", "sizeBytes": 10, **fields}
    answer = shared_client.post("/imports/files/upload-url", body)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["error"]["details"][0]["field"] == named
