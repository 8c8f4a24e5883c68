"""Erasure: a customer's texts are erased everywhere, and scores and metrics stay."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from app.analytics.exports import service as export_service
from app.analytics.models import ExportJob
from app.audio_files.models import AudioFile
from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.core.database.session import Table
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.evaluations.judging.model_answers import StoredAnswers
from app.privacy import jobs, records, service
from app.privacy.models import Erasure
from app.privacy.records import ErasureBatch, ErasureRecords
from app.redaction.models import RawText
from tests.caller import Caller
from tests.contacts import judge
from tests.running import running_runtime

pytestmark = pytest.mark.sql

REF = "customer-4711"
WORDS = ("kettle", "Zebedee", "billing", "tambourine")
CHAT = [
    {"role": "agent", "text": "Hello, this is Zebedee speaking, how may I help you?"},
    {"role": "customer", "text": "My kettle is broken and I am very upset. Call me: 555-123-4567."},
    {"role": "agent", "text": "I am sorry about the kettle. I have sent a new one, is that all?"},
    {"role": "customer", "text": "Great, the tambourine works as well. Thank you, goodbye!"},
]


def put(client: Caller, key: str, **fields: Any) -> dict[str, Any]:
    body = {"messages": CHAT, "subject": "kettle", "customerRef": REF, **fields}
    answer = client.call("PUT", f"/imports/conversations/{key}", body)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def read(client: Caller, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def everything(runtime: Runtime) -> str:
    with runtime.db.reading() as session:
        rows = [session.execute(select(table)).all() for table in Table.metadata.sorted_tables]
    return repr(rows)


def erase(client: Caller, runtime: Runtime, ref: str = REF) -> dict[str, Any]:
    answer = client.post("/privacy/erase", {"customerRef": ref})
    assert answer.status_code == 202
    erasure = answer.json()["data"]
    assert erasure["status"] == "queued"
    jobs.run_erasure(running_runtime(), erasure["erasureId"])
    shown: dict[str, Any] = read(client, f"/privacy/erasures/{erasure['erasureId']}")
    return shown


def numbers(client: Caller, made: dict[str, Any]) -> dict[str, Any]:
    """Return what must not change."""
    results = read(client, f"/evaluations/{made['evaluationId']}/results")
    names = ("score", "rawScore", "sections", "metrics", "dimensions", "sentiment", "passed")
    # Without the customer nobody knows whether it was the first contact.
    del results["metrics"]["firstContactResolution"]
    summary = read(client, "/analytics/summary")
    return {
        **{name: results[name] for name in names},
        "answers": [
            [criterion["key"], criterion["answer"], criterion["points"]]
            for criterion in results["criteria"]
        ],
        "analytics": {name: value for name, value in summary.items() if name != "period"},
        "list": client.get("/evaluations").json()["pagination"]["totalCount"],
    }


def test_texts_of_a_customer_are_erased_and_scores_stay(client: Caller, runtime: Runtime) -> None:
    made = put(client, "one")
    put(client, "two")
    other = put(client, "three", customerRef="customer-1", messages=CHAT[:1] + CHAT[2:])
    judge()
    before = numbers(client, made)
    assert "kettle" in everything(runtime)
    done = erase(client, runtime)
    assert done["status"] == "completed"
    assert done["counts"] == {
        "conversations": 2,
        "voiceCalls": 0,
        "audioFiles": 0,
        "evaluations": 2,
        "exports": 0,
    }
    assert numbers(client, made) == before
    transcript = read(client, f"/evaluations/{made['evaluationId']}/transcript")
    assert [segment["text"] for segment in transcript["segments"]] == [""] * 4
    assert transcript["erasedAt"] is not None
    assert transcript["wordCount"] > 30
    assert read(client, f"/evaluations/{made['evaluationId']}")["status"] == "completed"
    assert (
        read(client, "/evaluations?q=kettle") == read(client, "/conversations?q=tambourine") == []
    )
    messages = read(client, f"/conversations/{made['id']}/messages?redacted=false")
    assert [message["text"] for message in messages] == [""] * 4
    record = read(client, f"/conversations/{made['id']}")
    assert (record["subject"], record["customerRef"]) == (None, None)
    assert record["messageCount"] == 4
    _is_not_brought_back(client, made)
    assert erase(client, runtime)["counts"]["conversations"] == 0
    assert "kettle" in read(client, f"/conversations/{other['id']}/messages")[1]["text"]
    assert erase(client, runtime, "customer-1")["counts"]["conversations"] == 1
    left = everything(runtime)
    assert [word for word in (*WORDS, REF, "555-123") if word in left] == []
    with runtime.db.reading() as session:
        assert session.scalars(select(RawText)).all() == []


def test_the_number_of_a_hotline_selects_no_calls(client: Caller, runtime: Runtime) -> None:
    hotline, customer, other = "+15550000000", "+15551111111", "+15552222222"
    calls = {
        "inbound": (customer, hotline),
        "outbound": (hotline, customer),
        "unknown": (customer, hotline),
    }
    for direction, (caller, called) in calls.items():
        for key, theirs in ((direction, False), (f"other-{direction}", True)):
            numbers = [other if theirs and each == customer else each for each in (caller, called)]
            body = {"status": "completed", "turns": [], "direction": direction}
            body |= {"fromNumber": numbers[0], "toNumber": numbers[1]}
            answer = client.call("PUT", f"/imports/voice-calls/{key}", body)
            assert answer.status_code == 201, answer.text
    assert erase(client, runtime, hotline)["counts"]["voiceCalls"] == 0
    assert erase(client, runtime, customer)["counts"]["voiceCalls"] == 3


@pytest.mark.sqlite_only("only a file of SQLite keeps what was deleted")
def test_erased_texts_are_overwritten_in_the_database_file(
    client: Caller, runtime: Runtime
) -> None:
    put(client, "one")
    erase(client, runtime)
    with closing(sqlite3.connect(runtime.settings.data_dir / "cqe.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = (runtime.settings.data_dir / "cqe.db").read_bytes()
    assert [word for word in (b"kettle", b"tambourine") if word in content] == []


def _is_not_brought_back(client: Caller, made: dict[str, Any]) -> None:
    body = {"messages": CHAT, "customerRef": REF}
    answer = client.call("PUT", "/imports/conversations/one", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
    answer = client.post(f"/evaluations/{made['evaluationId']}/re-evaluate")
    if answer.status_code == 202:
        judge()
    quote = {"segmentId": "seg_0001", "quote": "Hello"}
    rating = {"key": "opening.greeting", "answer": "yes", "evidence": [quote]}
    review = {"action": "comment", "reviewer": "N", "reason": "so", "criteria": [rating]}
    answer = client.post(f"/evaluations/{made['evaluationId']}/reviews", review)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "CONFLICT")
    assert read(client, f"/evaluations/{made['evaluationId']}")["isCurrent"] is True


def test_calls_and_recordings_are_erased_by_label_and_bytes_after_the_commit(
    client: Caller, runtime: Runtime, tmp_path: Any
) -> None:
    labels = {"customerRef": REF}
    turns = [{"role": "bot", "text": "Your kettle?", "startMs": 0, "endMs": 900}]
    call = client.call(
        "PUT",
        "/imports/voice-calls/one",
        {"status": "completed", "turns": turns, "labels": labels, "fromNumber": "+15551234567"},
    ).json()["data"]
    audio_file_id = _stored(client, runtime, labels)
    lease = _begun(client, runtime)
    erasure_id = lease.job_id
    # The worker ends between the commit and the deletion of the bytes.
    assert _erase_found(runtime, lease) == 2
    assert runtime.storage.size_of(audio_file_id) is not None
    assert client.get(f"/audio-files/{audio_file_id}/download-url").status_code == 404
    _left_by_its_worker(runtime)
    assert jobs.due_ids(runtime) == [erasure_id]
    jobs.run_erasure(running_runtime(), erasure_id)
    assert runtime.storage.size_of(audio_file_id) is None
    shown = read(client, f"/privacy/erasures/{erasure_id}")
    assert shown["status"] == "completed"
    assert (shown["counts"]["voiceCalls"], shown["counts"]["audioFiles"]) == (1, 1)
    assert read(client, f"/voice-calls/{call['id']}")["fromNumber"] is None
    assert client.post(f"/audio-files/{audio_file_id}/process").status_code == 409
    assert [
        word for word in ("kettle", REF, "1234567", "secret.wav") if word in everything(runtime)
    ] == []


def _begun(client: Caller, runtime: Runtime) -> Lease[Erasure]:
    asked = client.post("/privacy/erase", {"customerRef": REF}).json()["data"]
    with runtime.db.writing() as session:
        lease = leases.claim(session, asked["erasureId"], Erasure)
    assert lease is not None
    return lease


def _erase_found(runtime: Runtime, lease: Lease[Erasure]) -> int:
    with runtime.db.reading() as session:
        batches = service.find_batches(session, lease.job_id)
    for batch in batches:
        with runtime.db.writing() as session:
            service.erase_batch(session, lease, batch)
    return len(batches)


def _left_by_its_worker(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        session.execute(update(Erasure).values(lease_owner=None))


def test_changes_during_an_erasure_are_respected(client: Caller, runtime: Runtime) -> None:
    def call(key: str, **changes: Any) -> str:
        turns = [{"role": "customer", "text": f"The {key} kettle?", "startMs": 0, "endMs": 900}]
        body = {"status": "completed", "turns": turns, **changes}
        made: str = client.call("PUT", f"/imports/voice-calls/{key}", body).json()["data"]["id"]
        return made

    theirs = {"labels": {"customerRef": REF}}
    call("early")
    wrong = call("wrong", **theirs)
    chat = put(client, "chat")["id"]
    lease = _begun(client, runtime)
    with runtime.db.reading() as session:
        batches = service.find_batches(session, lease.job_id)
    # Between the look and the writing: one was not theirs, one turns out to be, one comes in.
    call("wrong", labels={"customerRef": "another"})
    call("early", **theirs)
    call("late", fromNumber=REF)
    put(client, "late")
    for batch in batches:
        with runtime.db.writing() as session:
            service.erase_batch(session, lease, batch)
    _left_by_its_worker(runtime)
    jobs.run_erasure(running_runtime(), lease.job_id)
    shown = read(client, f"/privacy/erasures/{lease.job_id}")
    counts = shown["counts"]
    assert (shown["status"], counts["conversations"], counts["voiceCalls"]) == ("completed", 2, 2)
    text = everything(runtime)
    assert [key for key in ("early", "wrong", "late") if f"The {key} kettle" in text] == ["wrong"]
    assert read(client, f"/voice-calls/{wrong}")["labels"] == {"customerRef": "another"}
    assert read(client, f"/conversations/{chat}")["customerRef"] is None


def _stored(client: Caller, runtime: Runtime, labels: dict[str, str]) -> str:
    body = {
        "fileName": "secret.wav",
        "contentType": "audio/wav",
        "sizeBytes": 20,
        "labels": labels,
    }
    reserved = client.post("/audio-files/upload-url", body).json()["data"]
    sent = client.session.put(
        reserved["uploadUrl"], data=b"x" * 20, headers=reserved["headers"], timeout=30
    )
    assert sent.status_code == 201
    found: str = reserved["audioFileId"]
    return found


def test_running_evaluations_are_erased_and_exports_expire(
    client: Caller, runtime: Runtime
) -> None:
    made = put(client, "one")
    export = client.post("/analytics/export", {"dataset": "segments", "format": "csv"}).json()
    with runtime.db.writing() as session:
        session.execute(
            update(ExportJob).values(
                state=JobState.SUCCEEDED, expires_at=utc_now() + timedelta(hours=1)
            )
        )
    assert erase(client, runtime)["counts"]["exports"] == 1
    assert read(client, f"/analytics/export/{export['data']['jobId']}")["status"] == "expired"
    assert read(client, f"/evaluations/{made['evaluationId']}")["status"] == "canceled"
    judge()
    # A model that was asked before the erasure may answer after it.
    answers, late = StoredAnswers(runtime.db), {"quote": "my kettle is broken"}
    answers.keep("asked before", late, evaluation_id=made["evaluationId"])
    assert answers.find("asked before") is None
    assert "kettle" not in everything(runtime)
    young = put(client, "young", customerRef="another")
    answers.keep("asked now", late, evaluation_id=young["evaluationId"])
    assert answers.find("asked now") == late


def test_an_erasure_that_fails_halfway_expires_exports(client: Caller, runtime: Runtime) -> None:
    put(client, "one")
    ready, running = (
        client.post("/analytics/export", {"dataset": "segments", "format": each}).json()["data"]
        for each in ("csv", "jsonl")
    )
    with runtime.db.writing() as session:
        lease = export_service.claim(session, running["jobId"])
        assert lease is not None
        session.execute(
            update(ExportJob)
            .where(ExportJob.id == ready["jobId"])
            .values(state=JobState.SUCCEEDED, expires_at=utc_now() + timedelta(hours=1))
        )
    erasing_lease = _begun(client, runtime)
    assert _erase_found(runtime, erasing_lease) == 1
    with runtime.db.writing() as session:
        service.fail(session, erasing_lease, RuntimeError())
    shown = read(client, f"/privacy/erasures/{erasing_lease.job_id}")
    assert (shown["status"], shown["counts"]["exports"]) == ("failed", 1)
    assert read(client, f"/analytics/export/{ready['jobId']}")["status"] == "expired"
    assert read(client, f"/analytics/export/{running['jobId']}")["status"] == "queued"
    with runtime.db.writing() as session:
        again = export_service.claim(session, running["jobId"])
    assert again is not None
    assert (lease.attempt, again.attempt) == (1, 1)


def test_scope_and_body_of_an_erasure_are_checked(
    client: Caller, make_caller: Callable[..., Caller]
) -> None:
    other = make_caller(client.base, scopes=["conversations:read"])
    assert other.post("/privacy/erase", {"customerRef": REF}).status_code == 403
    assert client.post("/privacy/erase", {}).status_code == 422
    assert client.post("/privacy/erase", {"customerRef": ""}).status_code == 422
    assert client.get("/privacy/erasures/era_01k9zq4v2me8wb7xq3s5ndt6ha").status_code == 404


@pytest.mark.parametrize("days", [0, 30])
def test_records_older_than_the_retention_period_are_erased(
    client: Caller, runtime: Runtime, days: int, make_settings: Callable[..., Settings]
) -> None:
    old, young = put(client, "old"), put(client, "young")
    audio_file_id = _stored(client, runtime, {})
    with runtime.db.writing() as session:
        long_ago = utc_now() - timedelta(days=40)
        for chat, moment in ((old, long_ago), (young, utc_now())):
            of_chat = update(Conversation).where(Conversation.id == chat["id"])
            session.execute(of_chat.values(conversation_at=moment))
        session.execute(update(AudioFile).values(created_at=long_ago, conversation_at=long_ago))
    periods = {"retention_texts_days": days, "retention_audio_days": days}
    jobs.erase_old(runtime, make_settings(**periods))
    jobs.purge_bytes(runtime)
    shown = [
        read(client, f"/conversations/{each['id']}/messages")[3]["text"] == ""
        for each in (old, young)
    ]
    assert shown == [days > 0, False]
    assert (runtime.storage.size_of(audio_file_id) is None) == (days > 0)


def test_of_two_records_of_an_erasure_the_longer_stays(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    erasure_id = new_id("era")
    recorded = ErasureRecords(one, None)
    recorded.add(erasure_id, ErasureBatch("conversations", ["conv_1"]))
    records.add_copies(other, one)
    recorded.add(erasure_id, ErasureBatch("audioFiles", ["aud_1"]))
    records.add_copies(one, other)
    (one / "notes.txt").write_text("not a record")
    [(recorded_id, [name])] = recorded.names().items()
    assert recorded_id == erasure_id
    assert [erased.source_type for erased in recorded.read(name)] == ["conversations", "audioFiles"]
