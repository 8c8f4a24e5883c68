"""The main job with real processes: a recording in, an evaluation and signed events out."""

import hashlib
import hmac
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from redis import Redis

from app.events.catalogue import EventType
from app.events.schemas import schema_of
from tests.caller import Caller
from tests.hostile_media import mp4, mp4_track
from tests.receiver import Received, Receiver, hang, status, write_ca_bundle
from tests.recordings import CALL, reserve, send
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import ServiceProcess, kill

pytestmark = pytest.mark.long

pytest.importorskip("faster_whisper", reason="the speech engine is not installed")

EVENTS = ("audio.transcribed", "evaluation.completed", "audio.processed")


def start_service(data_dir: Path, **variables: Any) -> ServiceProcess:
    """Start a service that sends its events to receivers of this test run."""
    service = ServiceProcess(
        data_dir,
        CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8,::1/128",
        CQE_WEBHOOK_CA_BUNDLE=write_ca_bundle(data_dir.parent),
        CQE_WEBHOOK_RETRY_DELAYS="0.3,0.5",
        CQE_WEBHOOK_TIMEOUT_SECONDS="10",
        **variables,
    )
    return service.wait_ready()


class Walk:
    """A caller of a running service, with its first key, and a receiver that listens to it."""

    def __init__(self, service: ServiceProcess, receiver: Receiver) -> None:
        self.receiver = receiver
        self.service = service
        text = (service.data_dir / "first-key.txt").read_text()
        key, secret = (re.search(rf"{start}\S+", text) for start in ("cqek_", "cqes_"))
        assert key
        assert secret
        self.client = Caller(f"http://127.0.0.1:{service.port}", key[0], secret[0])
        self.subscription = self.subscribe()
        self.secret = self.subscription["signing_secret"]

    def subscribe(self) -> dict[str, Any]:
        body = {"url": self.receiver.url(), "events": list(EVENTS)}
        answer = self.client.post("/webhooks", body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json()["data"])

    def upload(self, recording: bytes = CALL.read_bytes(), **fields: Any) -> str:
        reserved = reserve(self.client, len(recording), **fields)
        assert send(reserved, recording).status_code == 201
        return str(reserved["audioFileId"])

    def state(self, audio_file_id: str) -> dict[str, Any]:
        answer = self.client.get(f"/audio-files/{audio_file_id}/processing-status")
        return dict(answer.json()["data"])

    def wait_for(
        self,
        audio_file_id: str,
        reached: Callable[[dict[str, Any]], bool],
        within_s: float = PATIENCE_S,
    ) -> dict[str, Any]:
        until = time.monotonic() + within_s
        while not reached(state := self.state(audio_file_id)):
            assert time.monotonic() < until, f"{state}\n{self.service.text}"
            time.sleep(0.1)
        return state

    def wait_processed(self, audio_file_id: str) -> dict[str, Any]:
        state = self.wait_for(
            audio_file_id, lambda state: state["status"] in ("processed", "failed")
        )
        assert state["status"] == "processed", state
        return state

    def data(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def events(self) -> dict[str, list[dict[str, Any]]]:
        """The bodies received so far by type, every signature and shape checked."""
        events: dict[str, list[dict[str, Any]]] = {name: [] for name in EVENTS}
        for request in self.receiver.received():
            made = hmac.new(self.secret.encode(), request.body, hashlib.sha256).hexdigest()
            assert request.headers["x-webhook-signature"] == made
            event = request.event
            jsonschema.validate(event, schema_of(EventType(event["event"])))
            assert request.headers["x-webhook-id"] == event["id"]
            events[event["event"]].append(event)
        return events

    def wait_for_events(self) -> dict[str, list[dict[str, Any]]]:
        wait_until(lambda: all(self.events().values()))
        return self.events()

    def kill(self, name: str) -> None:
        """Kill -9 every process of the service whose short name holds this."""
        pids = [pid for pid, child in self.service.children().items() if name in child]
        assert pids, self.service.children()
        for pid in pids:
            kill(pid)

    def kill_if(self, name: str, fact: Callable[[], bool]) -> bool:
        """Halt every process of this name; kill -9 them if the fact is true then."""
        pids = [pid for pid, child in self.service.children().items() if name in child]
        for pid in pids:
            kill(pid, signal.SIGSTOP)
        is_true = bool(pids) and fact()
        for pid in pids:
            kill(pid, signal.SIGKILL if is_true else signal.SIGCONT)
        return is_true

    def end(self) -> None:
        self.client.delete(f"/webhooks/{self.subscription['id']}")
        self.client.close()


@pytest.fixture(scope="module")
def service(module_data_dir: Path, module_database_url: str) -> Iterator[ServiceProcess]:
    """One service for the tests that leave it running."""
    service = start_service(module_data_dir, CQE_DATABASE_URL=module_database_url)
    yield service
    service.end()


@pytest.fixture
def walk(service: ServiceProcess, receiver: Receiver) -> Iterator[Walk]:
    walk = Walk(service, receiver)
    yield walk
    walk.end()


def test_a_recording_becomes_an_evaluation_with_evidence_and_signed_events(walk: Walk) -> None:
    engagement = walk.client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]
    audio = walk.upload(engagementId=engagement["id"], channelMap={"agent": 0, "customer": 1})
    queued = walk.client.post(f"/audio-files/{audio}/process")
    assert queued.status_code == 202

    seen: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while (state := walk.state(audio))["status"] not in ("processed", "failed"):
        seen.add(state["progress"])
        assert time.monotonic() < until, state
        time.sleep(0.05)
    assert state["status"] == "processed", state
    assert len(seen) >= 3, f"progress did not move: {seen}"

    transcript = walk.data(f"/audio-files/{audio}/transcript")
    said = {"agent": "", "customer": ""}
    for segment in transcript["segments"]:
        said[segment["role"]] += segment["text"]
    assert "invalid for this conference" in said["agent"]
    assert "native country" in said["customer"]
    evaluation = walk.data(f"/evaluations/{state['evaluationId']}")
    results = walk.data(f"/evaluations/{state['evaluationId']}/results")
    assert evaluation["status"] == "completed"
    assert evaluation["score"] == results["score"]
    assert evaluation["channel"] == "voice"
    texts = {segment["id"]: segment["text"] for segment in transcript["segments"]}
    quotes = [quote for criterion in results["criteria"] for quote in criterion["evidence"]]
    for quote in quotes:
        text = texts[quote["segmentId"]]
        assert text[quote["charStart"] : quote["charEnd"]] == quote["quote"]
    for criterion in results["criteria"]:
        assert (criterion["normalizedScore"] is not None) == criterion["applicable"]
    counted = walk.data(f"/engagements/{engagement['id']}")
    assert counted["evaluationCount"] == 1

    events = walk.wait_for_events()
    assert {name: len(sent) for name, sent in events.items()} == dict.fromkeys(EVENTS, 1)
    assert events["evaluation.completed"][0]["data"] == {
        "evaluation_id": evaluation["id"],
        "engagement_id": engagement["id"],
        "campaign": "",
        "score": evaluation["score"],
        "channel": "voice",
        "duration_seconds": evaluation["durationSeconds"],
    }


def test_a_hostile_recording_fails_at_once_and_another_is_processed(walk: Walk) -> None:
    hostile = walk.upload(mp4(mp4_track(300_000_000)), contentType="audio/mp4", autoProcess=True)
    ordinary = walk.upload(autoProcess=True)
    refused = walk.wait_for(hostile, lambda state: state["status"] == "failed")
    assert refused["attempts"] == 1
    assert refused["error"] == {
        "code": "UNSUPPORTED_MEDIA",
        "message": "The file claims more samples than its size can hold.",
    }
    assert walk.wait_processed(ordinary)["attempts"] == 1


def test_a_transcription_that_is_killed_is_taken_up_again_and_told_once(walk: Walk) -> None:
    audio = walk.upload(autoProcess=True)
    wait_until(lambda: walk.kill_if("audio", lambda: walk.state(audio)["status"] == "transcribing"))
    assert walk.wait_processed(audio)["attempts"] >= 2
    walk.wait_for_events()
    time.sleep(1)
    assert {name: len(sent) for name, sent in walk.events().items()} == dict.fromkeys(EVENTS, 1)


def test_a_sender_that_is_killed_in_mid_delivery_sends_the_same_ids_again(walk: Walk) -> None:
    walk.receiver.script("/hook", hang, status(200))
    audio = walk.upload(autoProcess=True)
    walk.wait_processed(audio)
    first = walk.receiver.wait_for(1)[0]
    walk.kill("sender")

    def attempts() -> list[Received]:
        requests = walk.receiver.received()
        return [request for request in requests if request.event["id"] == first.event["id"]]

    wait_until(lambda: len(attempts()) >= 2)
    second = attempts()[1]
    assert second.body == first.body
    for name in ("x-webhook-id", "x-webhook-delivery", "x-webhook-attempt"):
        assert second.headers[name] == first.headers[name]


def test_a_flushed_queue_loses_nothing(walk: Walk) -> None:
    url = (walk.service.data_dir / "queue.url").read_text().strip()
    queue = Redis.from_url(url)
    audio = walk.upload(autoProcess=True)
    for _ in range(20):
        queue.flushall()
        time.sleep(0.1)
    queue.close()
    walk.wait_processed(audio)
    walk.wait_for_events()


def test_with_no_queue_server_everything_works(
    data_dir: Path, receiver: Receiver, database_url: str
) -> None:
    service = start_service(data_dir, CQE_REDIS_URL="none", CQE_DATABASE_URL=database_url)
    try:
        walk = Walk(service, receiver)
        walk.wait_processed(walk.upload(autoProcess=True))
        walk.wait_for_events()
        walk.end()
    finally:
        service.end()
