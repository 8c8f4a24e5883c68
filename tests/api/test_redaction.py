"""Personal data over the API: masked everywhere, and original only with the scope for it."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from app.audio_files.models import ProcessingJob
from app.core.database.session import Table
from app.core.runtime import Runtime
from app.core.secrets.encryption import Keyring
from app.redaction import raw_texts
from tests.caller import Caller
from tests.contacts import judge
from tests.recordings import upload

CARD = "4111 1111 1111 1111"
SAID = [
    {"role": "agent", "text": "Welcome to Acme, this is Laura speaking. How may I help?"},
    {"role": "customer", "text": f"My name is Keiko Tanaka, my card {CARD} was charged twice."},
    {"role": "agent", "text": "Thank you, Keiko. I have refunded order 8812345, is that all?"},
    {"role": "customer", "text": "Yes, thank you. You can reach me at keiko@example.com."},
]
MASKED = [
    "Welcome to Acme, this is Laura speaking. How may I help?",
    "My name is [NAME], my card [CARD] was charged twice.",
    "Thank you, [NAME]. I have refunded order 8812345, is that all?",
    "Yes, thank you. You can reach me at [EMAIL].",
]
SECRETS = ("4111", "Keiko", "Tanaka", "keiko@")


def put(client: Caller, **fields: Any) -> dict[str, Any]:
    body = {"messages": SAID, "subject": f"Charged twice on {CARD}", **fields}
    answer = client.call("PUT", "/imports/conversations/masked-1", body)
    assert answer.status_code in (200, 201)
    found: dict[str, Any] = answer.json()["data"]
    return found


def texts(client: Caller, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200
    data = answer.json()["data"]
    return [each["text"] for each in (data if isinstance(data, list) else data["segments"])]


def everything(runtime: Runtime) -> str:
    """Return what all tables hold."""
    with runtime.db.reading() as session:
        rows = [session.execute(select(table)).all() for table in Table.metadata.sorted_tables]
    return repr(rows)


def test_originals_are_returned_only_with_the_scope(
    client: Caller,
    runtime: Runtime,
    make_caller: Callable[..., Caller],
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = put(client)
    judge()
    shown = f"/conversations/{made['id']}/messages"
    judged = f"/evaluations/{made['evaluationId']}/transcript"
    assert texts(client, shown) == MASKED
    assert texts(client, judged) == MASKED
    messages = client.get(shown).json()["data"]
    for message in messages:
        for redaction in message["redactions"]:
            placeholder = f"[{redaction['entityType'].upper()}]"
            assert message["text"][redaction["charStart"] : redaction["charEnd"]] == placeholder
    transcript = client.get(judged).json()["data"]
    assert transcript["redacted"] is True
    assert transcript["redactionEntities"] == {"card": 1, "email": 1, "name": 2}
    evaluation = client.get(f"/evaluations/{made['evaluationId']}").json()["data"]
    assert (evaluation["status"], evaluation["redacted"]) == ("completed", True)
    assert client.get(f"/conversations/{made['id']}").json()["data"]["subject"] == (
        "Charged twice on [CARD]"
    )
    results = client.get(f"/evaluations/{made['evaluationId']}/results").text
    assert [secret for secret in SECRETS if secret in results] == []
    dump = everything(runtime)
    assert "[CARD]" in dump
    assert [secret for secret in SECRETS if secret in dump] == []
    _raw_is_for_those_who_may(client, make_caller, caplog, shown, judged)
    _sealed_anew(runtime)


def _raw_is_for_those_who_may(
    client: Caller,
    make_caller: Callable[..., Caller],
    caplog: pytest.LogCaptureFixture,
    shown: str,
    judged: str,
) -> None:
    other = make_caller(client.base, scopes=["conversations:read", "evaluations:read"])
    for path in (shown, judged):
        refused = other.get(f"{path}?redacted=false")
        assert refused.status_code == 403
        assert refused.json()["error"]["code"] == "INSUFFICIENT_SCOPE"
        assert texts(other, path) == MASKED
        with caplog.at_level(logging.INFO):
            assert texts(client, f"{path}?redacted=false") == [each["text"] for each in SAID]
        assert "unmasked texts of" in caplog.text
        assert "Keiko" not in caplog.text
    transcript = client.get(f"{judged}?redacted=false").json()["data"]
    assert (transcript["redacted"], transcript["redactionEntities"]) == (False, {})


def _sealed_anew(runtime: Runtime) -> None:
    new = Keyring({"k9": b"9" * 32, **_keys(runtime)})
    with runtime.db.writing() as session:
        assert raw_texts.rewrap(session, new) == 1
        assert raw_texts.rewrap(session, new) == 0


def _keys(runtime: Runtime) -> dict[str, bytes]:
    return dict(runtime.keyring._keys)


def test_only_a_changed_original_changes_a_masked_conversation(client: Caller) -> None:
    first = put(client)
    assert put(client)["updatedAt"] == first["updatedAt"]
    other = [dict(each) for each in SAID]
    other[1]["text"] = other[1]["text"].replace(CARD, "5555 5555 5555 4444")
    after = put(client, messages=other)
    assert after["updatedAt"] > first["updatedAt"]
    raw = texts(client, f"/conversations/{first['id']}/messages?redacted=false")
    assert raw == [each["text"] for each in other]


def test_the_turns_of_a_call_are_masked_in_transcript_order(
    client: Caller,
) -> None:
    turns = [
        {"role": "customer", "text": "the fourth of July 1985", "startMs": 4000, "endMs": 6000},
        {"role": "bot", "text": "What is your date of birth?", "startMs": 1000, "endMs": 3000},
        {"role": "bot", "text": "Thank you, that is all I need.", "startMs": 7000, "endMs": 9000},
    ]
    answer = client.call(
        "PUT", "/imports/voice-calls/masked-2", {"status": "completed", "turns": turns}
    )
    path = f"/evaluations/{answer.json()['data']['evaluationId']}/transcript"
    assert texts(client, path)[1] == "[DATE_OF_BIRTH]"
    assert texts(client, f"{path}?redacted=false")[1] == "the fourth of July 1985"


@pytest.mark.parametrize(("wish", "expected"), [({}, True), ({"redact": False}, False)])
def test_a_recording_is_masked_unless_the_request_declines_it(
    client: Caller, runtime: Runtime, wish: dict[str, bool], expected: bool
) -> None:
    audio_file_id = upload(client, b"x" * 20)
    assert client.post(f"/audio-files/{audio_file_id}/process", wish).status_code == 202
    with runtime.db.reading() as session:
        assert session.scalar(select(ProcessingJob.redact)) is expected
