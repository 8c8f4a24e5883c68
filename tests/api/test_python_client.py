"""Python client, against the real service and against servers that fail."""

import json
import traceback
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from app.api_keys.signing_cli import KEY, SECRET, VECTORS, Vector
from app.audio_files import jobs as audio_files
from app.core.runtime import Runtime
from cqe_client import (
    ApiError,
    Client,
    CqeError,
    InvalidWebhook,
    ProcessingFailed,
    ProcessingStatus,
    WaitTimeout,
    signed_headers,
    types,
    verify_webhook,
)
from tests.caller import Caller
from tests.receiver import Receiver, hang_up, status
from tests.recordings import split_call
from tests.signed_webhooks import SENT_AT, SIGNING_SECRET, signed_webhook
from tests.walks.service_process import free_port

ROOT = Path(__file__).resolve().parents[2]
EMPTY = json.dumps(
    {"data": [], "pagination": {"page": 1, "pageSize": 25, "totalCount": 0}}
).encode()


@pytest.fixture
def api(client: Caller) -> Iterator[Client]:
    """A client of the running service, with every scope."""
    with Client(client.base, client.api_key, client.secret) as made:
        yield made


@pytest.fixture(scope="module")
def unreliable() -> Iterator[Receiver]:
    """A server that answers as a test tells it to."""
    server = Receiver(tls=False)
    yield server
    server.close()


@pytest.fixture
def unlucky(unreliable: Receiver) -> Iterator[Client]:
    """A client of the unreliable server."""
    with Client(f"http://127.0.0.1:{unreliable.port}", KEY, SECRET) as made:
        yield made


@pytest.mark.parametrize("vector", VECTORS)
def test_every_vector_gives_its_signature(vector: Vector) -> None:
    headers = signed_headers(
        KEY,
        SECRET,
        vector.method,
        vector.target,
        vector.body,
        timestamp=vector.timestamp,
        nonce=vector.nonce,
    )
    assert headers["X-Signature"] == vector.signature
    assert headers.get("X-Nonce", "") == vector.nonce


def test_each_method_is_signed_as_it_is_sent(api: Client) -> None:
    made = api.post("/engagements", {"name": "Zoë ☕ %2f/?", "type": "qa"})
    path = f"/engagements/{made['id']}"
    assert api.get(path) == made
    assert api.patch(path, {"status": "completed"})["status"] == "completed"
    campaign = api.put("/imports/campaigns/a%20b é", {"name": "50% + ☕", "type": "sales"})
    assert campaign["externalId"] == "a b é"
    [found] = api.iterate("/campaigns", q="0% + ☕", type=["support", "sales"])
    assert found["id"] == campaign["id"]
    key = api.post("/api-keys", {"name": "reader", "scopes": ["usage:read"]})
    api.delete(f"/api-keys/{key['id']}")
    statuses = {row["name"]: row["status"] for row in api.iterate("/api-keys")}
    assert statuses == {"test": "active", "reader": "revoked"}


def test_lists_are_read_page_after_page(api: Client) -> None:
    """The list of engagements has an envelope of its own."""
    names = [f"Campaign {number}" for number in range(5)]
    for name in names:
        api.put(f"/imports/campaigns/{name}", {"name": name})
        api.post("/engagements", {"name": name, "type": "qa"})
    for path in ("/campaigns", "/engagements"):
        found = api.iterate(path, pageSize=2, sort="createdAt")
        assert [row["name"] for row in found] == names
    assert [row["name"] for row in api.iterate("/campaigns", pageSize=2, page=3)] == names[:1]


def test_filters_take_moments_and_flags(api: Client) -> None:
    filters = {"from_": date(2026, 1, 1), "to": datetime(2026, 2, 1, tzinfo=UTC), "passed": True}
    assert list(api.evaluations(**filters, topic=None)) == []
    with pytest.raises(ApiError, match="passd"):
        list(api.evaluations(passd=True))


def test_an_error_carries_what_the_service_says(api: Client) -> None:
    with pytest.raises(ApiError) as caught:
        api.post("/engagements", {"name": "", "type": "qa"})
    error = caught.value
    assert (error.status, error.code) == (422, "VALIDATION_ERROR")
    assert [detail["field"] for detail in error.details] == ["name"]
    assert error.request_id.startswith("req_")
    for text in (error.message, error.details[0]["message"], error.request_id):
        assert text in str(error)


def test_a_wrong_secret_is_answered_with_the_received_lines(client: Caller) -> None:
    shown = r"path='/api/v1/evaluations\?page=1'"
    with (
        Client(client.base, client.api_key, SECRET) as api,
        pytest.raises(ApiError, match=shown) as caught,
    ):
        list(api.evaluations())
    assert caught.value.code == "INVALID_SIGNATURE"


def test_a_key_that_requires_nonces_is_served(base: str, make_caller: Any) -> None:
    strict = make_caller(base, require_nonce=True)
    with Client(base, strict.api_key, strict.secret) as api:
        assert api.post("/engagements", {"name": "A", "type": "qa"})["name"] == "A"


def test_an_idempotency_key_of_ones_own_makes_one_engagement(api: Client) -> None:
    body = {"name": "A", "type": "qa"}
    first, second = (api.post("/engagements", body, idempotency_key="k1") for _ in range(2))
    assert first == second


def test_an_overloaded_service_is_asked_again(unreliable: Receiver, unlucky: Client) -> None:
    path = "/api/v1/engagements"
    busy = status(503, b"{}", "Retry-After: 1")
    unreliable.script(path, busy, status(201, b'{"data": {"id": "eng_1"}}'))
    assert unlucky.post("/engagements", {"name": "A"}) == {"id": "eng_1"}
    first, second = (request.headers for request in unreliable.received(path))
    assert first["idempotency-key"] == second["idempotency-key"]
    assert first["x-nonce"] != second["x-nonce"]
    waited = unreliable.received(path)[1].at - unreliable.received(path)[0].at
    assert waited >= 1


def test_a_long_wait_is_left_to_the_caller(unreliable: Receiver, unlucky: Client) -> None:
    error = {"code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests.", "retryAfter": 120}
    limited = status(429, json.dumps({"error": error}).encode(), "Retry-After: 120")
    unreliable.script("/api/v1/usage/summary", limited)
    with pytest.raises(ApiError) as caught:
        unlucky.get("/usage/summary")
    assert (caught.value.code, caught.value.retry_after) == ("RATE_LIMIT_EXCEEDED", 120)


def test_a_lost_answer_is_asked_for_again(unreliable: Receiver, unlucky: Client) -> None:
    unreliable.script("/api/v1/evaluations?page=1", hang_up, status(200, EMPTY))
    assert list(unlucky.evaluations()) == []
    unreliable.script("/api/v1/webhooks/wh_1", hang_up)
    with pytest.raises(CqeError, match="There was no answer from 127"):
        unlucky.delete("/webhooks/wh_1")
    assert len(unreliable.received("/api/v1/webhooks/wh_1")) == 1


def test_a_refused_connection_is_one_sentence() -> None:
    host = f"127.0.0.1:{free_port()}"
    with pytest.raises(CqeError) as caught, Client(f"http://{host}", KEY, SECRET, retries=0) as api:
        api.get("/usage/summary")
    said = f"There was no answer from {host}: Connection refused."
    printed = "".join(traceback.format_exception(caught.value))
    assert printed.endswith(f"CqeError: {said}\n")
    assert printed.count("Traceback") == 1


def test_an_answer_that_is_not_json_is_an_error_with_its_status(
    unreliable: Receiver, unlucky: Client
) -> None:
    for code in (301, 404):
        unreliable.script("/api/v1/campaigns/camp_1", status(code, b"<html>"))
        with pytest.raises(ApiError, match=f"HTTP {code}"):
            unlucky.get("/campaigns/camp_1")


def test_the_environment_names_service_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CQE_CLIENT_SECRET", raising=False)
    monkeypatch.setenv("CQE_CLIENT_KEY", KEY)
    with pytest.raises(CqeError, match="CQE_CLIENT_SECRET must be set"):
        Client.from_environment()


def test_a_recording_that_fails_says_why(api: Client, runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "notes.wav"
    file.write_text("This is not a recording." * 100)
    seen: list[str] = []

    def work(status: ProcessingStatus) -> None:
        seen.append(status["status"])
        if status["jobId"] and not seen[1:]:
            audio_files.process_audio(runtime, status["jobId"])

    with pytest.raises(ProcessingFailed) as caught:
        api.upload_and_wait(file, on_progress=work)
    assert caught.value.code == "UNSUPPORTED_MEDIA"
    assert caught.value.message in str(caught.value)
    assert seen[-1] == "failed"


def test_waiting_ends_in_time(api: Client, tmp_path: Path) -> None:
    file = tmp_path / "call.WAV"
    file.write_bytes(b"RIFF")
    audio_file_id = api.upload(file, externalId="crm-1")
    assert api.get(f"/audio-files/{audio_file_id}")["contentType"] == "audio/wav"
    with pytest.raises(WaitTimeout, match=audio_file_id):
        api.wait(audio_file_id, timeout_s=0.1)
    with pytest.raises(CqeError, match="contentType must be given"):
        api.upload(tmp_path / "call.xyz")


def test_both_sides_of_a_call_become_one_recording(
    api: Client, runtime: Runtime, tmp_path: Path
) -> None:
    split_call(tmp_path, "agent.wav", "customer")
    sides = {
        "agent": {"recordedAt": datetime(2026, 11, 21, 9, 0, 2, tzinfo=UTC).isoformat()},
        "customer": {"contentType": "audio/wav", "recordedAt": "2026-11-21T09:00:00Z"},
    }
    audio_file_id = api.upload_pair(
        tmp_path / "agent.wav", tmp_path / "customer", sides=sides, externalId="crm-2"
    )
    audio_files.draw_waveform(runtime, "")
    made = api.get(f"/audio-files/{audio_file_id}")
    assert (made["status"], made["externalId"]) == ("uploaded", "crm-2")
    assert made["channelMap"] == {"agent": 0, "customer": 1}
    assert made["recordedAt"] == "2026-11-21T09:00:00.000Z"


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        (types.Evaluation, "Evaluation"),
        (types.EvaluationDetail, "EvaluationDetail"),
        (types.Said, "Said"),
        (types.Results, "Results"),
        (types.Criterion, "Criterion"),
        (types.Evidence, "Evidence"),
        (types.Section, "Section"),
        (types.Moment, "Moment"),
        (types.Resolution, "Resolution"),
        (types.Summary, "Summary"),
        (types.Coaching, "Coaching"),
        (types.Advice, "Advice"),
        (types.AutoFail, "AutoFail"),
        (types.Engine, "Engine"),
        (types.ScorecardReference, "ScorecardReference"),
        (types.ProcessingStatus, "ProcessingStatus"),
        (types.ProcessingStage, "ProcessingStage"),
        (types.Failure, "AudioFailure"),
        (types.ErrorDetail, "Detail"),
    ],
)
def test_the_types_have_the_keys_of_the_answers(shape: Any, schema: str) -> None:
    document = json.loads((ROOT / "openapi.json").read_text())
    documented = document["components"]["schemas"][schema]["properties"]
    assert set(shape.__annotations__) == set(documented)


def test_a_webhook_of_the_service_is_verified() -> None:
    body, headers = signed_webhook()
    rotated = {**headers, "Webhook-Signature": f"v1,AAAA {headers['Webhook-Signature']}"}
    for valid in (headers, rotated):
        event = verify_webhook(SIGNING_SECRET, body.encode(), valid, now=SENT_AT + 299)
        assert (event["id"], event["data"]) == ("evt_1", {"name": "Zoë ☕"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"body": b"{}"}, "does not match"),
        ({"signing_secret": "whsec_AAAA"}, "does not match"),
        ({"signing_secret": "whsec_!"}, "whole whsec_"),
        ({"Webhook-Id": "evt_2"}, "does not match"),
        ({"Webhook-Signature": ""}, "does not match"),
        ({"Webhook-Timestamp": ""}, "missing"),
        ({"now": SENT_AT + 301}, "too far"),
        ({"now": SENT_AT - 301}, "too far"),
    ],
)
def test_any_other_webhook_is_refused(changes: dict[str, Any], reason: str) -> None:
    body, headers = signed_webhook()
    arguments: dict[str, Any] = {
        "signing_secret": SIGNING_SECRET,
        "body": body.encode(),
        "now": SENT_AT,
    }
    for name, value in changes.items():
        (headers if name in headers else arguments)[name] = value
    with pytest.raises(InvalidWebhook, match=reason):
        verify_webhook(headers=headers, **arguments)
