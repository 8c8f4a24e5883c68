"""The main job with real processes: a recording in, an evaluation and signed events out."""

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from redis import Redis

from app.events.catalogue import EventType, schema_of
from tests.caller import Caller
from tests.hostile_media import mp4, mp4_track
from tests.receiver import Receiver, hang, status, write_ca_bundle
from tests.recordings import CALL, reserve, send
from tests.waiting import PATIENCE_S, wait_until
from tests.walks.service_process import ServiceProcess, kill

pytest.importorskip("faster_whisper", reason="the speech engine is not installed")

EVENTS = ("audio.transcribed", "evaluation.completed", "audio.processed")


class Walk:
    """A running service, its first key, and a receiver that listens to it."""

    def __init__(self, folder: Path, receiver: Receiver, **variables: str) -> None:
        self.receiver = receiver
        self.folder = folder / "instance"
        self.service = ServiceProcess(
            self.folder,
            CQE_WEBHOOK_ALLOWED_CIDRS="127.0.0.0/8,::1/128",
            CQE_WEBHOOK_CA_BUNDLE=write_ca_bundle(folder),
            CQE_WEBHOOK_RETRY_DELAYS="0.3,0.5",
            CQE_WEBHOOK_TIMEOUT_SECONDS="10",
            **variables,
        )
        self.service.wait_ready()
        text = (self.folder / "first-key.txt").read_text()
        key, secret = (re.search(rf"{start}\S+", text) for start in ("cqek_", "cqes_"))
        assert key
        assert secret
        self.client = Caller(f"http://127.0.0.1:{self.service.port}", key[0], secret[0])
        self.secret = self.subscribe()

    def subscribe(self) -> str:
        body = {"url": self.receiver.url(), "events": list(EVENTS)}
        answer = self.client.post("/webhooks", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["data"]["signing_secret"])

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
        state = self.wait_for(audio_file_id, lambda each: each["status"] in ("processed", "failed"))
        assert state["status"] == "processed", state
        return state

    def data(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def events(self) -> dict[str, list[dict[str, Any]]]:
        """The bodies received so far by type, every signature and shape checked."""
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in EVENTS}
        for request in self.receiver.received():
            made = hmac.new(self.secret.encode(), request.body, hashlib.sha256).hexdigest()
            assert request.headers["x-webhook-signature"] == made
            event = request.event
            jsonschema.validate(event, schema_of(EventType(event["event"])))
            assert request.headers["x-webhook-id"] == event["id"]
            found[event["event"]].append(event)
        return found

    def wait_for_events(self) -> dict[str, list[dict[str, Any]]]:
        wait_until(lambda: all(self.events().values()))
        return self.events()

    def kill(self, name: str) -> None:
        """Kill -9 every process of the service whose short name holds this."""
        found = [pid for pid, each in self.service.children().items() if name in each]
        assert found, self.service.children()
        for pid in found:
            kill(pid)

    def end(self) -> None:
        self.client.close()
        self.service.end()


@pytest.fixture
def walk(tmp_path: Path, receiver: Receiver, database_url: str) -> Iterator[Callable[..., Walk]]:
    started: list[Walk] = []

    def start(**variables: str) -> Walk:
        started.append(Walk(tmp_path, receiver, CQE_DATABASE_URL=database_url, **variables))
        return started[-1]

    yield start
    for each in started:
        each.end()


def test_a_recording_becomes_an_evaluation_with_evidence_and_signed_events(
    walk: Callable[..., Walk],
) -> None:
    here = walk()
    engagement = here.client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]
    audio = here.upload(engagementId=engagement["id"], channelMap={"agent": 0, "customer": 1})
    queued = here.client.post(f"/audio-files/{audio}/process")
    assert queued.status_code == 202

    seen: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while (state := here.state(audio))["status"] not in ("processed", "failed"):
        seen.add(state["progress"])
        assert time.monotonic() < until, state
        time.sleep(0.05)
    assert state["status"] == "processed", state
    assert len(seen) >= 3, f"progress did not move: {seen}"

    transcript = here.data(f"/audio-files/{audio}/transcript")
    said = {"agent": "", "customer": ""}
    for each in transcript["segments"]:
        said[each["role"]] += each["text"]
    assert "invalid for this conference" in said["agent"]
    assert "native country" in said["customer"]
    evaluation = here.data(f"/evaluations/{state['evaluationId']}")
    results = here.data(f"/evaluations/{state['evaluationId']}/results")
    assert evaluation["status"] == "completed"
    assert evaluation["score"] == results["score"]
    assert evaluation["channel"] == "voice"
    texts = {each["id"]: each["text"] for each in transcript["segments"]}
    evidence = [each for criterion in results["criteria"] for each in criterion["evidence"]]
    for each in evidence:
        assert texts[each["segmentId"]][each["charStart"] : each["charEnd"]] == each["quote"]
    for criterion in results["criteria"]:
        assert (criterion["normalizedScore"] is not None) == criterion["applicable"]
    counted = here.data(f"/engagements/{engagement['id']}")
    assert counted["evaluationCount"] == 1

    events = here.wait_for_events()
    assert {name: len(each) for name, each in events.items()} == dict.fromkeys(EVENTS, 1)
    assert events["evaluation.completed"][0]["data"] == {
        "evaluation_id": evaluation["id"],
        "engagement_id": engagement["id"],
        "campaign": "",
        "score": evaluation["score"],
        "channel": "voice",
        "duration_seconds": evaluation["durationSeconds"],
    }


def test_a_hostile_recording_fails_at_once_and_another_is_processed(
    walk: Callable[..., Walk],
) -> None:
    here = walk()
    hostile = here.upload(mp4(mp4_track(300_000_000)), contentType="audio/mp4", autoProcess=True)
    ordinary = here.upload(autoProcess=True)
    refused = here.wait_for(hostile, lambda state: state["status"] == "failed")
    assert refused["attempts"] == 1
    assert refused["error"] == {
        "code": "UNSUPPORTED_MEDIA",
        "message": "The file claims more samples than its size can hold.",
    }
    assert here.wait_processed(ordinary)["attempts"] == 1


def test_a_transcription_that_is_killed_is_taken_up_again_and_told_once(
    walk: Callable[..., Walk],
) -> None:
    here = walk()
    audio = here.upload(autoProcess=True)
    here.wait_for(audio, lambda state: state["status"] == "transcribing")
    here.kill("audio")
    assert here.wait_processed(audio)["attempts"] >= 2
    here.wait_for_events()
    time.sleep(1)
    assert {name: len(each) for name, each in here.events().items()} == dict.fromkeys(EVENTS, 1)


def test_a_sender_that_is_killed_in_mid_delivery_sends_the_same_ids_again(
    walk: Callable[..., Walk],
) -> None:
    here = walk()
    here.receiver.script("/hook", hang, status(200))
    audio = here.upload(autoProcess=True)
    here.wait_processed(audio)
    first = here.receiver.wait_for(1)[0]
    here.kill("sender")
    again = lambda: [  # noqa: E731 - asked over and over
        each for each in here.receiver.received() if each.event["id"] == first.event["id"]
    ]
    wait_until(lambda: len(again()) >= 2)
    second = again()[1]
    assert second.body == first.body
    for name in ("x-webhook-id", "x-webhook-delivery", "x-webhook-attempt"):
        assert second.headers[name] == first.headers[name]


def test_a_flushed_queue_loses_nothing(walk: Callable[..., Walk]) -> None:
    here = walk()
    url = (here.folder / "queue.url").read_text().strip()
    queue = Redis.from_url(url)
    audio = here.upload(autoProcess=True)
    for _ in range(20):
        queue.flushall()
        time.sleep(0.1)
    queue.close()
    here.wait_processed(audio)
    here.wait_for_events()


def test_with_no_queue_server_everything_works(walk: Callable[..., Walk]) -> None:
    here = walk(CQE_REDIS_URL="none")
    audio = here.upload(autoProcess=True)
    here.wait_processed(audio)
    here.wait_for_events()
