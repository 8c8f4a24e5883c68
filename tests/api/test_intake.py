"""Intake: webhooks of vendors are verified, taken once, and become calls, recordings and conversations."""

import base64
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from ipaddress import ip_network
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from sqlalchemy import select

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.intake import jobs, service
from app.intake.models import IntakeDelivery, IntakeSource
from app.privacy.jobs import run_erasure
from tests.caller import Caller, error_code
from tests.intake_requests import (
    ANSWERS,
    CHATWOOT,
    ELEVENLABS,
    INTERCOM,
    RETELL,
    SECRET,
    TWILIO,
    VAPI,
    ZAMMAD,
    ZENDESK,
    Sent,
    signed,
)
from tests.receiver import Receiver, Visit, status, write_ca_bundle
from tests.recordings import CALL, SPEECH
from tests.running import running_runtime
from tests.visitor import Visitor, signed_in

DOCUMENTS: dict[str, dict[str, Any]] = {
    "vapi": VAPI,
    "retell": RETELL,
    "elevenlabs": ELEVENLABS,
    "twilio": TWILIO,
    "zendesk": ZENDESK,
    "intercom": INTERCOM,
    "chatwoot": CHATWOOT,
    "zammad": ZAMMAD,
}
DESKS = {"zendesk": "5158", "intercom": "1911149811", "chatwoot": "7", "zammad": "12"}
EXTRA = {
    "twilio": {"accountSid": TWILIO["AccountSid"]},
    "zendesk": {"subdomain": "harbour", "email": "qa@example.com", "token": "t-7"},
    "intercom": {"token": "t-7"},
    "chatwoot": {"url": "https://localhost", "token": "t-7"},
    "zammad": {"url": "https://localhost", "token": "t-7"},
}
CALLS = ("vapi", "retell", "elevenlabs")


@pytest.fixture
def base(serve: Callable[..., str], tmp_path: Path) -> str:
    """A service that may ask vendors on loopback addresses."""
    return serve(
        webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),),
        webhook_ca_bundle=write_ca_bundle(tmp_path),
    )


@pytest.fixture
def admin(base: str, runtime: Runtime) -> Visitor:
    """An admin who has signed in."""
    return signed_in(base, runtime, "admin")


def switch_on(admin: Visitor, name: str, **form: str) -> requests.Response:
    return admin.post(f"/sources/{name}", {"secret": SECRET, **EXTRA.get(name, {}), **form})


def document_of(name: str) -> dict[str, Any]:
    document = deepcopy(DOCUMENTS[name])
    if name == "vapi":
        document["message"]["timestamp"] = time.time() * 1000
    if name == "intercom":
        document["created_at"] = int(time.time())
    return document


def sent(base: str, name: str, document: dict[str, Any], **changes: Any) -> Sent:
    now = time.time() + changes.pop("later_s", 0)
    return signed(name, document, now, address=f"{base}/intake/{name}", **changes)


def send(base: str, name: str, request: Sent) -> requests.Response:
    return requests.post(
        f"{base}/intake/{name}", data=request.body, headers=request.headers, timeout=30
    )


def state_of(answer: requests.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["status"])


def deliveries(runtime: Runtime) -> list[IntakeDelivery]:
    with runtime.db.reading() as session:
        return list(session.scalars(select(IntakeDelivery).order_by(IntakeDelivery.queued_at)))


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_taken_once_and_judged(
    base: str, runtime: Runtime, client: Caller, admin: Visitor, name: str
) -> None:
    assert switch_on(admin, name).status_code == 303
    request = sent(base, name, document_of(name))
    assert state_of(send(base, name, request)) == "accepted"
    assert state_of(send(base, name, request)) == "duplicate"
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert (delivery.state, delivery.outcome, delivery.sealed_body) == (
        "succeeded",
        "created",
        None,
    )
    (call,) = client.get("/voice-calls").json()["data"]
    expected = {
        "vapi": ("vapi-call-1", "inbound", "asst-1", "2026-11-27T10:00:00.000Z", 65),
        "retell": (
            *("Jabr9TXYYJHfvl6Syypi88rdAHYHmcq6", "inbound", "oBeDLoLOeuAbiuaMFXRtDOLriTJ5tSxD"),
            *("2024-05-02T00:07:55.945Z", 16),
        ),
        "elevenlabs": ("abc", "outbound", "xyz", "2025-02-14T12:48:17.000Z", 22),
    }[name]
    names = ("externalId", "direction", "botId", "startedAt", "durationSeconds")
    assert tuple(call[key] for key in names) == expected
    assert call["evaluationId"]
    segments = client.get(f"/evaluations/{call['evaluationId']}/transcript").json()["data"]
    roles = [segment["role"] for segment in segments["segments"]]
    assert roles == {"elevenlabs": ["bot", "customer"], "retell": ["bot", "customer"]}.get(
        name, ["bot", "customer", "bot"]
    )
    page = admin.get(f"/sources/{name}").text
    assert "Stored" in page
    assert expected[0] in page


@pytest.mark.parametrize("name", [*DOCUMENTS])
def test_a_foreign_changed_or_old_request_is_refused_and_shown(
    base: str, runtime: Runtime, admin: Visitor, name: str
) -> None:
    assert send(base, name, sent(base, name, document_of(name))).status_code == 404
    switch_on(admin, name)
    foreign = sent(base, name, document_of(name), secret="another")
    good = sent(base, name, document_of(name))
    refused = [
        foreign,
        Sent(good.body.replace(b"c", b"d"), good.headers),
        Sent(good.body, {"Content-Type": good.headers["Content-Type"]}),
    ]
    if name in ("retell", "elevenlabs", "zendesk", "chatwoot"):
        refused += [sent(base, name, document_of(name), later_s=later) for later in (-7200, 7200)]
    if name == "twilio":
        refused.append(Sent(b"\xff=\xfe", good.headers))
    if name in ("vapi", "intercom"):
        old = document_of(name)
        old["created_at"] = int(time.time()) - 7200
        old.get("message", {})["timestamp"] = (time.time() - 7200) * 1000
        refused.append(sent(base, name, old))
    for request in refused:
        answer = send(base, name, request)
        assert answer.status_code == 401, answer.text
        assert error_code(answer) == "INTAKE_SIGNATURE"
        assert SECRET not in answer.text
    assert deliveries(runtime) == []
    assert "A request was refused" in admin.get(f"/sources/{name}").text
    assert admin.post(f"/sources/{name}/off", {}).status_code == 303
    assert send(base, name, good).status_code == 404


def test_other_events_and_calls_without_words_leave_nothing(
    base: str, runtime: Runtime, admin: Visitor, client: Caller
) -> None:
    switch_on(admin, "retell")
    for event in ("call_started", "call_analyzed"):
        request = sent(base, "retell", {**RETELL, "event": event})
        assert state_of(send(base, "retell", request)) == "ignored"
    silent: dict[str, Any] = document_of("retell")
    silent["call"]["transcript_object"] = []
    assert state_of(send(base, "retell", sent(base, "retell", silent))) == "accepted"
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert (delivery.state, delivery.outcome) == ("succeeded", "empty")
    assert client.get("/voice-calls").json()["data"] == []
    assert "No speech" in admin.get("/sources/retell").text


def test_what_cannot_be_stored_says_why_and_can_be_tried_again(
    base: str, runtime: Runtime, admin: Visitor, client: Caller
) -> None:
    switch_on(admin, "retell")
    wrong: dict[str, Any] = document_of("retell")
    wrong["call"]["start_timestamp"] = 4102444800000
    assert state_of(send(base, "retell", sent(base, "retell", wrong))) == "accepted"
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert delivery.state == "failed"
    assert delivery.sealed_body is not None
    page = admin.get("/sources/retell").text
    assert "Failed: startedAt:" in page
    retry = re.search(r'action="(/sources/retell/deliveries/intk_\w+/retry)"', page)
    assert retry is not None
    assert admin.post(retry[1], {}).status_code == 303
    assert deliveries(runtime)[0].state == "queued"
    admin.post("/sources/retell/off", {})
    jobs.run_intake(runtime, "")
    assert "switched off" in (deliveries(runtime)[0].error or {})["message"]
    with runtime.db.writing() as session:
        service.forget_bodies(session, before=utc_now())
    assert deliveries(runtime)[0].sealed_body is None
    assert admin.post(retry[1], {}).status_code == 409
    assert client.get("/voice-calls").json()["data"] == []


def test_an_erasure_takes_what_waits_and_what_has_failed(
    base: str, runtime: Runtime, admin: Visitor, client: Caller
) -> None:
    switch_on(admin, "retell")
    calls = [document_of("retell") for _ in range(3)]
    calls[0]["call"]["start_timestamp"] = 4102444800000
    calls[2]["call"]["from_number"] = "+12137771299"
    for call in calls[:1]:
        send(base, "retell", sent(base, "retell", call))
    jobs.run_intake(runtime, "")
    for call in calls[1:]:
        send(base, "retell", sent(base, "retell", call))
    erasure = client.post("/privacy/erase", {"customerRef": "+12137771234"})
    assert erasure.status_code == 202, erasure.text
    run_erasure(runtime, erasure.json()["data"]["erasureId"])
    failed, waiting, other = deliveries(runtime)
    for delivery in (failed, waiting):
        assert (delivery.state, delivery.sealed_body) == ("failed", None)
        assert (delivery.error or {})["code"] == "ERASED"
    retry = admin.post(f"/sources/retell/deliveries/{failed.id}/retry", {})
    assert retry.status_code == 409
    assert other.sealed_body is not None
    jobs.run_intake(runtime, "")
    (stored,) = client.get("/voice-calls").json()["data"]
    assert stored["fromNumber"].endswith("99")


def test_secrets_are_encrypted_kept_and_never_shown(
    base: str, runtime: Runtime, admin: Visitor
) -> None:
    assert switch_on(admin, "twilio", accountSid="AC1").status_code == 422
    assert "Account SID has another form" in switch_on(admin, "twilio", accountSid="AC1").text
    assert "Auth token is needed" in switch_on(admin, "twilio", secret="").text
    assert switch_on(admin, "twilio").status_code == 303
    assert switch_on(admin, "twilio", secret="", agentChannel="1").status_code == 303
    with runtime.db.reading() as session:
        row = session.get(IntakeSource, "twilio")
        assert row is not None
        assert SECRET not in row.sealed_config
        configured = service.config_of(session, runtime.keyring, "twilio")
    assert configured is not None
    assert configured[0] == {**EXTRA["twilio"], "secret": SECRET, "agentChannel": "1"}
    page = admin.get("/sources/twilio").text
    assert SECRET not in page
    assert EXTRA["twilio"]["accountSid"] in page
    assert signed_in(base, runtime, "lead").get("/sources").status_code == 403
    assert 'name="remove"' not in page
    # Nobody learns a stored token by naming an address of their own.
    assert switch_on(admin, "zammad").status_code == 303
    assert switch_on(admin, "zammad", secret="", token="").status_code == 303
    moved = switch_on(admin, "zammad", token="", url="https://elsewhere.example.com")
    assert (moved.status_code, "Access token is needed" in moved.text) == (422, True)


def test_an_optional_secret_can_be_removed(runtime: Runtime, admin: Visitor) -> None:
    def stored() -> set[str]:
        with runtime.db.reading() as session:
            configured = service.config_of(session, runtime.keyring, "elevenlabs")
        assert configured is not None
        return {*configured[0]}

    assert switch_on(admin, "elevenlabs", key="k-1").status_code == 303
    assert switch_on(admin, "elevenlabs", key="").status_code == 303
    assert stored() == {"secret", "key"}
    offered = re.findall(r'name="remove" value="(\w+)"', admin.get("/sources/elevenlabs").text)
    assert offered == ["key"]
    assert switch_on(admin, "elevenlabs", key="", remove="key").status_code == 303
    assert stored() == {"secret"}
    # What a source needs stays.
    assert switch_on(admin, "elevenlabs", secret="", remove="secret").status_code == 422
    assert stored() == {"secret"}


@pytest.fixture
def vendor_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A server that has the names and the port of the vendors'."""
    names = (
        *("api.twilio.com", "harbour.zendesk.com", "api.intercom.io", "storage.vapi.ai"),
        *("retellai.s3.us-west-2.amazonaws.com", "api.elevenlabs.io"),
    )
    address = ("127.0.71.5", 443)
    try:
        host = Receiver(names=names, address=address)
    except PermissionError:
        pytest.skip("port 443 needs rights that this user has not")
    resolve = socket.getaddrinfo

    def to_here(name: Any, *rest: Any, **more: Any) -> Any:
        is_vendor = name in [vendor.encode() for vendor in names]
        return resolve(address[0] if is_vendor else name, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", to_here)
    yield host
    host.close()


def test_a_recording_is_fetched_from_twilio_and_processed(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, vendor_host: Receiver
) -> None:
    account = f"/2010-04-01/Accounts/{TWILIO['AccountSid']}"
    sound = f"{account}/Recordings/{TWILIO['RecordingSid']}.wav?RequestedChannels=2"
    call = f"{account}/Calls/{TWILIO['CallSid']}.json"
    vendor_host.script(call, status(200, b'{"direction": "outbound-api"}'))
    vendor_host.script(sound, status(503), status(200, CALL.read_bytes()))
    switch_on(admin, "twilio", agentChannel="0")
    assert state_of(send(base, "twilio", sent(base, "twilio", TWILIO))) == "accepted"
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert delivery.state == "queued"
    with runtime.db.writing() as session:
        row = session.get(IntakeDelivery, delivery.id)
        assert row is not None
        row.due_at = row.queued_at
    jobs.run_intake(runtime, "")
    assert deliveries(runtime)[0].outcome == "created"
    (recording,) = client.get("/audio-files").json()["data"]
    assert recording["externalId"] == TWILIO["RecordingSid"]
    assert recording["direction"] == "outbound"
    assert recording["recordedAt"] == "2010-08-24T09:16:00.000Z"
    assert recording["channelMap"] == {"agent": 0, "customer": 1}
    assert recording["status"] == "queued"
    assert recording["sizeBytes"] == CALL.stat().st_size
    assert {"authorization"} <= vendor_host.received(sound)[0].headers.keys()


def test_a_recording_over_the_limit_is_fetched_once(
    serve: Callable[..., str], tmp_path: Path, vendor_host: Receiver
) -> None:
    base = serve(
        webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),),
        webhook_ca_bundle=write_ca_bundle(tmp_path),
        upload_max_bytes=1000,
    )
    account = f"/2010-04-01/Accounts/{TWILIO['AccountSid']}"
    sound = f"{account}/Recordings/{TWILIO['RecordingSid']}.wav?RequestedChannels=2"
    vendor_host.script(f"{account}/Calls/{TWILIO['CallSid']}.json", status(200, b"{}"))
    vendor_host.script(sound, status(200, CALL.read_bytes()))
    switch_on(signed_in(base, running_runtime(), "admin"), "twilio")
    send(base, "twilio", sent(base, "twilio", TWILIO))
    jobs.run_intake(running_runtime(), "")
    assert deliveries(running_runtime())[0].error == {
        "code": "VENDOR_REFUSED",
        "message": "The answer of api.twilio.com has more than 1000 bytes.",
    }


def test_sound_that_fills_the_disk_waits_for_space(
    base: str,
    runtime: Runtime,
    admin: Visitor,
    vendor_host: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound, free = CALL.read_bytes(), os.statvfs
    is_full, cut_off = threading.Event(), []

    def half_then_full(visit: Visit) -> bool:
        visit.send(f"HTTP/1.1 200 OK\r\nContent-Length: {len(sound)}\r\n\r\n".encode())
        visit.send(sound[: len(sound) // 2])
        is_full.set()
        try:
            visit.send(sound[len(sound) // 2 : -1])
            visit.sock.settimeout(3)
            cut_off.append(not visit.sock.recv(1))
        except TimeoutError:
            cut_off.append(False)
        except OSError:
            cut_off.append(True)
        return False

    def of_disk(folder: Any) -> Any:
        return SimpleNamespace(f_bavail=0, f_frsize=4096) if is_full.is_set() else free(folder)

    account = f"/2010-04-01/Accounts/{TWILIO['AccountSid']}"
    path = f"{account}/Recordings/{TWILIO['RecordingSid']}.wav?RequestedChannels=2"
    vendor_host.script(f"{account}/Calls/{TWILIO['CallSid']}.json", status(200, b"{}"))
    vendor_host.script(path, half_then_full, status(200, sound))
    switch_on(admin, "twilio")
    send(base, "twilio", sent(base, "twilio", TWILIO))
    monkeypatch.setattr(os, "statvfs", of_disk)
    jobs.run_intake(runtime, "")
    assert cut_off == [True]
    assert deliveries(runtime)[0].state == "queued"
    assert [*(runtime.settings.data_dir / "spool").iterdir()] == []
    is_full.clear()
    with runtime.db.writing() as session:
        row = session.get_one(IntakeDelivery, deliveries(runtime)[0].id)
        row.due_at = row.queued_at
    jobs.run_intake(runtime, "")
    assert deliveries(runtime)[0].outcome == "created"


def test_a_redirect_to_a_foreign_host_is_not_followed(
    base: str, runtime: Runtime, admin: Visitor, vendor_host: Receiver
) -> None:
    with_key = Receiver(names=("localhost",))
    account = f"/2010-04-01/Accounts/{TWILIO['AccountSid']}"
    vendor_host.script(
        f"{account}/Calls/{TWILIO['CallSid']}.json",
        status(302, b"", f"Location: {with_key.url('/steal')}"),
    )
    switch_on(admin, "twilio")
    send(base, "twilio", sent(base, "twilio", TWILIO))
    jobs.run_intake(runtime, "")
    assert deliveries(runtime)[0].error == {
        "code": "VENDOR_REFUSED",
        "message": "localhost is not a host of this source.",
    }
    assert with_key.requests == []
    with_key.close()


@pytest.mark.parametrize("name", CALLS)
def test_the_sound_of_a_call_is_fetched_from_its_vendor(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, vendor_host: Receiver, name: str
) -> None:
    document = document_of(name)
    path = {"elevenlabs": "/v1/convai/conversations/abc/audio"}.get(name, "/calls/1-stereo.wav")
    if name == "vapi":
        document["message"]["artifact"]["stereoRecordingUrl"] = f"https://storage.vapi.ai{path}"
    if name == "retell":
        host = "https://retellai.s3.us-west-2.amazonaws.com"
        document["call"] |= {
            "recording_url": f"{host}/no.wav",
            "recording_multi_channel_url": host + path,
        }
    sound = SPEECH if name == "elevenlabs" else CALL
    vendor_host.script(path, status(200, sound.read_bytes()))
    switch_on(admin, name, **({"key": "k-7"} if name == "elevenlabs" else {}))
    send(base, name, sent(base, name, document))
    jobs.run_intake(runtime, "")
    assert deliveries(runtime)[0].error is None
    (call,) = client.get("/voice-calls").json()["data"]
    assert call["hasRecording"] is True
    (recording,) = client.get("/audio-files").json()["data"]
    assert recording["externalId"] == f"{name}:{call['externalId']}"
    assert recording["sizeBytes"] == sound.stat().st_size
    # The words have come with the call: its sound is not judged once more.
    assert (recording["status"], recording["evaluationId"]) == ("uploaded", None)
    if name == "elevenlabs":
        assert vendor_host.received(path)[0].headers["xi-api-key"] == "k-7"


@pytest.mark.parametrize(
    ("address", "reason"),
    [("", "not a host of this source"), ("https://[vapi.ai/1.wav", "another form than documented")],
    ids=["foreign", "malformed"],
)
def test_a_call_whose_sound_cannot_be_had_is_stored_without(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, address: str, reason: str
) -> None:
    foreign = Receiver()
    document = document_of("vapi")
    document["message"]["artifact"]["recordingUrl"] = address or foreign.url("/calls/1.wav")
    switch_on(admin, "vapi")
    send(base, "vapi", sent(base, "vapi", document))
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert (delivery.state, delivery.outcome) == ("succeeded", "created")
    assert reason in admin.get("/sources/vapi").text
    (call,) = client.get("/voice-calls").json()["data"]
    assert (call["hasRecording"], bool(call["evaluationId"])) == (False, True)
    assert foreign.requests == []
    foreign.close()


def test_sound_of_a_customer_who_is_erased_while_it_is_fetched_is_not_stored(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, vendor_host: Receiver
) -> None:
    def erased_meanwhile(visit: Visit) -> bool:
        erasure = client.post("/privacy/erase", {"customerRef": "+12137771234"})
        run_erasure(runtime, erasure.json()["data"]["erasureId"])
        return status(200, CALL.read_bytes())(visit)

    vendor_host.script("/calls/1.wav", erased_meanwhile)
    document = document_of("retell")
    host = "https://retellai.s3.us-west-2.amazonaws.com"
    document["call"]["recording_url"] = f"{host}/calls/1.wav"
    switch_on(admin, "retell")
    send(base, "retell", sent(base, "retell", document))
    jobs.run_intake(runtime, "")
    (delivery,) = deliveries(runtime)
    assert (delivery.error or {})["code"] == "ERASED"
    assert len(vendor_host.received("/calls/1.wav")) == 1
    for path in ("/audio-files", "/voice-calls"):
        assert client.get(path).json()["data"] == []


def test_a_conversation_that_is_not_handed_out_whole_is_refused(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, vendor_host: Receiver
) -> None:
    ((path, answer),) = deepcopy(ANSWERS["intercom"]).items()
    answer["conversation_parts"]["total_count"] = 612
    vendor_host.script(path, status(200, json.dumps(answer).encode()))
    switch_on(admin, "intercom")
    send(base, "intercom", sent(base, "intercom", document_of("intercom")))
    jobs.run_intake(runtime, "")
    assert "612 parts, of which Intercom hands out 3" in admin.get("/sources/intercom").text
    assert client.get("/conversations").json()["data"] == []


def test_a_body_that_is_too_large_or_breaks_off_leaves_nothing(
    base: str, runtime: Runtime, admin: Visitor
) -> None:
    switch_on(admin, "retell")
    large: dict[str, Any] = document_of("retell")
    large["call"]["transcript"] = "x" * (1024 * 1024)
    assert send(base, "retell", sent(base, "retell", large)).status_code == 413
    assert "at most 1 MiB" in admin.get("/sources/retell").text
    request = sent(base, "retell", document_of("retell"))
    with socket.create_connection((urlsplit(base).hostname, urlsplit(base).port)) as broken:
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        length = f"Host: x\r\nContent-Length: {len(request.body)}\r\n"
        broken.sendall(f"POST /intake/retell HTTP/1.1\r\n{length}{head}\r\n".encode())
        broken.sendall(request.body[:-10])
    assert state_of(send(base, "retell", request)) == "accepted"
    assert len(deliveries(runtime)) == 1


@pytest.mark.parametrize("name", DESKS)
def test_an_ended_conversation_is_fetched_with_its_private_notes(
    base: str, runtime: Runtime, admin: Visitor, client: Caller, vendor_host: Receiver, name: str
) -> None:
    is_own = name in ("chatwoot", "zammad")
    host = Receiver() if is_own else vendor_host
    for path, answer in ANSWERS[name].items():
        host.script(path, status(200, json.dumps(answer).encode()))
    own = {"url": host.url("")} if is_own else {}
    assert switch_on(admin, name, **own).status_code == 303
    assert state_of(send(base, name, sent(base, name, document_of(name)))) == "accepted"
    jobs.run_intake(runtime, "")
    assert deliveries(runtime)[0].error is None
    (conversation,) = client.get("/conversations").json()["data"]
    assert conversation["externalId"] == DESKS[name]
    assert conversation["executiveId"]
    assert conversation["startedAt"].startswith("2026-11-2")
    messages = client.get(f"/conversations/{conversation['id']}/messages").json()["data"]
    assert [(said["role"], said["text"], said["internal"]) for said in messages] == [
        ("customer", "Where is my parcel?", False),
        ("agent", "She is angry.", True),
        ("agent", "It arrives on Friday.", False),
    ]
    sent_key = str(host.requests[0].headers)
    assert "t-7" in sent_key or base64.b64encode(b"qa@example.com/token:t-7").decode() in sent_key
    if is_own:
        host.close()


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("zendesk", {"detail": {"id": "5158", "status": "OPEN"}}),
        ("zendesk", {"detail": {"id": "../users", "status": "SOLVED"}}),
        ("intercom", {"topic": "conversation.user.replied"}),
        ("chatwoot", {"status": "open"}),
        ("chatwoot", {"messages": []}),
        ("zammad", {"ticket": {"id": 12, "state": {"name": "open"}}}),
        ("twilio", {"RecordingStatus": "in-progress"}),
        ("twilio", {"RecordingSid": "../RE"}),
    ],
)
def test_open_conversations_are_left(
    base: str, runtime: Runtime, admin: Visitor, name: str, changes: dict[str, Any]
) -> None:
    switch_on(admin, name)
    request = sent(base, name, {**document_of(name), **changes})
    assert state_of(send(base, name, request)) == "ignored"
    assert deliveries(runtime) == []


def test_a_probe_of_the_address_is_answered(base: str, admin: Visitor) -> None:
    assert requests.head(f"{base}/intake/vapi", timeout=30).status_code == 404
    switch_on(admin, "vapi")
    assert requests.head(f"{base}/intake/vapi", timeout=30).status_code == 204
    assert requests.get(f"{base}/intake/vapi", timeout=30).status_code == 405
