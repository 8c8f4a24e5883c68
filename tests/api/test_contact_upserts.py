"""Upserts of conversations and voice calls: creation, changes and evaluation."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from app.conversations.models import Conversation, Message
from app.core.runtime import Runtime
from app.evaluations.models import Evaluation, EvaluationJob
from app.voice_calls.models import VoiceCall
from tests.caller import Caller, findings
from tests.contacts import HELPFUL, call, chat, get, judge, messages, put, put_call, put_chat
from tests.happenings import happened

pytestmark = pytest.mark.sql

NOBODY = "01m7y8acjwfq8bmhevp404058a"
KINDS = ("conversations", "voice-calls")
BODIES = {"conversations": chat, "voice-calls": call}


def revisions(client: Caller, source_id: str) -> list[dict[str, Any]]:
    data = get(client, "/evaluations", sourceId=source_id, current="false", sort="createdAt")
    return list(data)


@pytest.mark.parametrize("kind", KINDS)
def test_an_identical_put_changes_nothing(client: Caller, runtime: Runtime, kind: str) -> None:
    body = BODIES[kind]()
    first = client.call("PUT", f"/imports/{kind}/crm%201", body)
    assert first.status_code == 201
    assert first.json()["data"]["externalId"] == "crm 1"
    judge()
    made = get(client, f"/{kind}/{first.json()['data']['id']}")
    assert made["score"] is not None
    told = happened(runtime)
    for again in (body, {**body, "externalId": "crm 1", "labels": {}}):
        answer = client.call("PUT", f"/imports/{kind}/crm%201", again)
        assert answer.status_code == 200
        assert answer.json()["data"] == made
    judge()
    assert happened(runtime) == told
    assert len(revisions(client, made["id"])) == 1


def test_a_changed_conversation_is_evaluated_as_the_next_revision(
    client: Caller, runtime: Runtime
) -> None:
    before = put_chat(client, messages=messages(HELPFUL[:4]))
    judge()
    time.sleep(0.002)
    after = put_chat(client, messages=messages())
    assert after["id"] == before["id"]
    assert after["updatedAt"] > before["updatedAt"]
    assert after["evaluationId"] == before["evaluationId"]
    judge()
    old, new = revisions(client, before["id"])
    assert (old["revision"], new["revision"]) == (1, 2)
    assert new["supersedesId"] == old["id"]
    assert (old["isCurrent"], new["isCurrent"]) == (False, True)
    shown = get(client, f"/conversations/{before['id']}")
    assert (shown["evaluationId"], shown["score"]) == (new["id"], new["score"])
    texts = [
        [
            segment["text"]
            for segment in get(client, f"/evaluations/{each['id']}/transcript")["segments"]
        ]
        for each in (old, new)
    ]
    assert texts == [[text for _, text in HELPFUL[:4]], [text for _, text in HELPFUL]]
    assert happened(runtime) == ["evaluation.completed"] * 2


def test_a_change_replaces_the_queued_evaluation(client: Caller) -> None:
    made = put_chat(client, messages=messages(HELPFUL[:6]))
    put_chat(client, messages=messages())
    waiting = revisions(client, made["id"])
    assert [row["status"] for row in waiting] == ["canceled", "queued"]
    judge()
    canceled, done = revisions(client, made["id"])
    assert (canceled["status"], done["status"]) == ("canceled", "completed")
    assert get(client, f"/evaluations/{canceled['id']}/transcript")["segmentCount"] == 6
    assert get(client, f"/conversations/{made['id']}")["evaluationId"] == done["id"]


def test_unchanged_messages_keep_their_ids(client: Caller, runtime: Runtime) -> None:
    made = put_chat(client)
    path = f"/conversations/{made['id']}/messages"
    before = [row["id"] for row in get(client, path)]
    lines = messages()
    put_chat(client, messages=[lines[0], lines[2], {**lines[3], "text": "Other"}, *lines[4:]])
    after = [row["id"] for row in get(client, path)]
    assert [after[0], after[1], *after[3:]] == [before[0], before[2], *before[4:]]
    assert after[2] not in before
    put_chat(client, messages=lines[:1])
    assert [row["id"] for row in get(client, path)] == before[:1]
    with runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Message)) == 1


def test_changes_that_no_evaluation_uses_make_no_new_one(client: Caller) -> None:
    made = put_chat(client)
    judge()
    changed = put_chat(client, csat={"score": 5}, tags=["a"], disposition="done", subject="S")
    assert (changed["csat"]["score"], changed["tags"]) == (5, ["a"])
    assert len(revisions(client, made["id"])) == 1
    put_chat(client, labels={"team": "north"})
    assert len(revisions(client, made["id"])) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_evaluate_false_stores_without_evaluating(
    client: Caller, runtime: Runtime, kind: str
) -> None:
    kept = put(client, kind, "k", BODIES[kind](), "?evaluate=false")
    assert kept["evaluationId"] is None
    with runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(EvaluationJob)) == 0
    assert put(client, kind, "k", BODIES[kind]())["evaluationId"] is not None
    assert findings(client.call("PUT", f"/imports/{kind}/k?evaluate=1", BODIES[kind]())) == {
        "evaluate": "TYPE"
    }


def test_an_open_conversation_is_evaluated_on_request(client: Caller) -> None:
    assert put_chat(client, status="open")["evaluationId"] is None
    assert put_chat(client, query="?evaluate=true", status="open")["evaluationId"] is not None
    closed = put_chat(client, "b", status="open", messages=messages(HELPFUL[:2]))
    assert closed["evaluationId"] is None
    assert put_chat(client, "b", status="closed")["evaluationId"] is not None
    notes = [{"role": "agent", "text": "A note.", "internal": True}, {"role": "bot", "text": " "}]
    assert put_chat(client, "c", messages=notes)["evaluationId"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_resolved_and_campaign_counts_updated(client: Caller, kind: str) -> None:
    engagement = client.post("/engagements", {"name": "Audit", "type": "qa"}).json()["data"]["id"]
    ids = {
        noun: put(client, room, name, {"name": name})["id"]
        for noun, room, name in (
            ("campaign", "campaigns", "Spring"),
            ("callCenter", "call-centers", "Pune"),
            ("executive", "executives", "Asha"),
        )
    }
    names = {"engagement": "Audit", "campaign": "Spring", "callCenter": "Pune", "executive": "Asha"}
    made = put(client, kind, "k", BODIES[kind](**names))
    assert made["engagementId"] == engagement
    assert {noun: made[f"{noun}Id"] for noun in ids} == ids
    judge()
    [evaluation] = revisions(client, made["id"])
    assert {noun: evaluation[noun] for noun in ids} == {
        "campaign": "Spring",
        "callCenter": "Pune",
        "executive": "Asha",
    }
    counted = "conversations" if kind == "conversations" else "voiceCalls"
    campaign = get(client, f"/campaigns/{ids['campaign']}")
    assert (campaign["counts"][counted], campaign["counts"]["evaluations"]) == (1, 1)
    assert campaign["meanScore"] == evaluation["score"]
    assert get(client, f"/engagements/{engagement}")["evaluationCount"] == 1
    autumn = put(client, "campaigns", "Autumn", {"name": "Autumn"})["id"]
    put(client, kind, "k", BODIES[kind](**names_of(names), campaignId=autumn))
    judge()
    spring, autumn_now = (get(client, f"/campaigns/{one}") for one in (ids["campaign"], autumn))
    assert (spring["counts"][counted], spring["meanScore"]) == (0, None)
    assert (autumn_now["counts"][counted], autumn_now["meanScore"]) == (1, evaluation["score"])


def names_of(names: dict[str, str]) -> dict[str, str]:
    return {noun: name for noun, name in names.items() if noun != "campaign"}


LONG = 20_001 * "x"
FUTURE = "2126-01-01T00:00:00Z"
HOSTILE: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("conversations", {"messages": None}, {"messages": "TYPE"}),
    ("conversations", {"messages": []}, {"messages": "LENGTH"}),
    ("conversations", {"messages": ["hi"]}, {"messages[0]": "TYPE"}),
    ("conversations", {"messages": [{"role": "alien", "text": "a"}]}, {"messages[0].role": "ENUM"}),
    ("conversations", {"messages": [{"role": "agent"}]}, {"messages[0].text": "REQUIRED"}),
    ("conversations", {"messages": [{"role": "agent", "text": 7}]}, {"messages[0].text": "TYPE"}),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": LONG}]},
        {"messages[0].text": "LENGTH"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "\x1b[31m"}]},
        {"messages[0].text": "FORMAT"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "a", "sentAt": FUTURE}]},
        {"messages[0].sentAt": "RANGE"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "a", "sentAt": "2026-01-01"}]},
        {"messages[0].sentAt": "FORMAT"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "a", "index": 4}]},
        {"messages[0].index": "UNKNOWN"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "a", "metadata": {"a": [1]}}]},
        {"messages[0].metadata.a.value": "TYPE"},
    ),
    (
        "conversations",
        {"messages": [{"role": "agent", "text": "a", "executiveId": f"exec_{NOBODY}"}]},
        {"messages": "FORMAT"},
    ),
    ("conversations", {"startedAt": FUTURE}, {"startedAt": "RANGE"}),
    (
        "conversations",
        {"startedAt": "2026-01-02T00:00:00Z", "endedAt": "2026-01-01T00:00:00Z"},
        {"endedAt": "RANGE"},
    ),
    ("conversations", {"csat": {"score": 6}}, {"csat.score": "RANGE"}),
    ("conversations", {"tags": ["a", "a"]}, {"tags": "FORMAT"}),
    ("conversations", {"platform": "fax"}, {"platform": "ENUM"}),
    ("conversations", {"messageCount": 3}, {"messageCount": "UNKNOWN"}),
    ("conversations", {"score": 100}, {"score": "UNKNOWN"}),
    ("conversations", {"campaign": "Nowhere"}, {"campaign": "FORMAT"}),
    ("conversations", {"engagementId": f"eng_{NOBODY}"}, {"engagementId": "FORMAT"}),
    ("conversations", {"campaign": "A", "campaignId": f"camp_{NOBODY}"}, {"campaign": "FORMAT"}),
    ("voice-calls", {"status": None}, {"status": "TYPE"}),
    ("voice-calls", {"status": "ended"}, {"status": "ENUM"}),
    ("voice-calls", {"durationSeconds": -1}, {"durationSeconds": "RANGE"}),
    ("voice-calls", {"durationSeconds": 1.5}, {"durationSeconds": "TYPE"}),
    ("voice-calls", {"endedAt": FUTURE}, {"endedAt": "RANGE"}),
    ("voice-calls", {"answeredAt": "2026-11-20T09:00:00Z"}, {"answeredAt": "RANGE"}),
    ("voice-calls", {"fromNumber": "<script>"}, {"fromNumber": "FORMAT"}),
    ("voice-calls", {"turns": [{"role": "ivr", "text": "a"}]}, {"turns[0].role": "ENUM"}),
    (
        "voice-calls",
        {"turns": [{"role": "bot", "text": "a", "startMs": -1}]},
        {"turns[0].startMs": "RANGE"},
    ),
    (
        "voice-calls",
        {"turns": [{"role": "bot", "text": "a", "startMs": 9, "endMs": 8}]},
        {"turns[0].endMs": "RANGE"},
    ),
    ("voice-calls", {"latencyMs": 7}, {"latencyMs": "TYPE"}),
    ("voice-calls", {"latencyMs": [1, -2]}, {"latencyMs[1]": "RANGE"}),
    ("voice-calls", {"latencyMs": {"p99": 1}}, {"latencyMs.p99": "UNKNOWN"}),
    ("voice-calls", {"collectedFields": {"a": {}}}, {"collectedFields.a.value": "TYPE"}),
    (
        "voice-calls",
        {"recording": {"audioFileId": f"aud_{NOBODY}"}},
        {"recording.audioFileId": "FORMAT"},
    ),
    ("voice-calls", {"epaStatus": "completed"}, {"epaStatus": "UNKNOWN"}),
    ("conversations", {"labels": {"team": "A", "team ": "B"}}, {"labels": "FORMAT"}),
    ("voice-calls", {"collectedFields": {"é": 1, "e\u0301": 2}}, {"collectedFields": "FORMAT"}),
]


def test_an_invalid_body_is_reported_by_field(client: Caller, runtime: Runtime) -> None:
    for kind, changes, expected in HOSTILE:
        answer = client.call("PUT", f"/imports/{kind}/k", {**BODIES[kind](), **changes})
        assert answer.status_code == 422, (changes, answer.text)
        assert findings(answer) == expected
    with runtime.db.reading() as session:
        for table in (Conversation, VoiceCall, Message, Evaluation):
            assert session.scalar(select(func.count()).select_from(table)) == 0
    assert happened(runtime) == []


def test_a_name_that_two_have_refers_to_neither(client: Caller) -> None:
    namesakes = [put(client, "executives", key, {"name": "Asha"})["id"] for key in "ab"]
    answer = client.call("PUT", "/imports/conversations/k", chat(executive="Asha"))
    assert findings(answer) == {"executive": "FORMAT"}
    assert put_chat(client, executiveId=namesakes[1])["executiveId"] == namesakes[1]


def test_languages_are_found_in_any_case(client: Caller) -> None:
    for key, language in (("a", "EN"), ("b", "en-gb"), ("c", "hi"), ("d", "eng")):
        put_chat(client, key, language=language)
    for language in ("en", "EN"):
        rows = get(client, "/conversations", language=language)
        assert sorted(row["externalId"] for row in rows) == ["a", "b"]
    assert [row["externalId"] for row in get(client, "/conversations", language="EN-GB")] == ["b"]


def test_ten_thousand_messages_are_the_maximum(client: Caller) -> None:
    lines = [{"role": ("agent", "customer")[n % 2], "text": f"Line {n}"} for n in range(10_000)]
    made = put(client, "conversations", "long", {"messages": lines})
    assert made["messageCount"] == 10_000
    path = f"/conversations/{made['id']}/messages"
    assert get(client, path, page=100, pageSize=100)[-1]["text"] == "Line 9999"
    more = {"messages": [*lines, lines[0]]}
    assert findings(client.call("PUT", "/imports/conversations/long", more)) == {
        "messages": "LENGTH"
    }


@pytest.mark.parametrize("kind", KINDS)
def test_eight_concurrent_puts_create_one_record(
    base: str, runtime: Runtime, make_caller: Callable[..., Caller], kind: str
) -> None:
    callers = [make_caller(base) for _ in range(8)]

    def send(caller: Caller) -> int:
        return caller.call("PUT", f"/imports/{kind}/same", BODIES[kind]()).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(send, callers)) == {201: 1, 200: 7}
    with runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(Evaluation)) == 1
    assert happened(runtime) == (["voice-call.completed"] if kind == "voice-calls" else [])


def test_upserts_require_their_scope(base: str, make_caller: Callable[..., Caller]) -> None:
    reader = make_caller(base, scopes=["conversations:read", "voice:read"])
    writer = make_caller(base, scopes=["ingest:write"])
    for kind in KINDS:
        assert reader.call("PUT", f"/imports/{kind}/k", {"nonsense": 1}).status_code == 403
        assert writer.call("PUT", f"/v1/imports/{kind}/k", BODIES[kind]()).status_code == 201
    assert put_call(writer)["status"] == "completed"
