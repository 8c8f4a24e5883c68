"""Imports over the API: accepted at once, loaded by a job, counted, errors reported by line."""

import itertools
import json
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import requests
import time_machine
from sqlalchemy import func, select

from app.campaigns.models import Campaign
from app.conversations.models import Conversation, Message
from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.runtime import Runtime
from app.directory.models import CallCenter, Executive
from app.directory.service import EXECUTIVES
from app.engagements.models import Engagement
from app.evaluations import jobs as evaluations
from app.evaluations.models import Evaluation
from app.events.models import Event
from app.imports import jobs, service
from app.imports.loading.normalise import normalised
from app.imports.models import Import
from tests.caller import Caller, error_code, findings
from tests.running import running_runtime, stopped_by_signal

NO_ID = "01k9zq2m5rt9w3x7b1f6e8nvha"
KEY = {"Idempotency-Key": "lines-1"}
SHOWN = {
    *("id", "status", "format", "evaluate", "onConflict", "dryRun", "counts", "errors", "error"),
    *("createdAt", "startedAt", "completedAt"),
}


def chat(external_id: str, *texts: str, **fields: Any) -> dict[str, Any]:
    texts = texts or ("Hello, my order is late.", "I am sorry, let me look.")
    roles = ("customer", "agent")
    messages = [{"role": roles[n % 2], "text": text} for n, text in enumerate(texts)]
    return {"externalId": external_id, "messages": messages, **fields}


def send(client: Caller, *items: dict[str, Any], **body: Any) -> dict[str, Any]:
    given = {"items": list(items)} if items else {}
    answer = client.post("/imports", {**given, **body})
    assert answer.status_code == 202, answer.text
    return dict(answer.json()["data"])


def run(client: Caller, *items: dict[str, Any], **body: Any) -> dict[str, Any]:
    """Send an import, do the worker's work, and return the import as it is then."""
    sent = send(client, *items, **body)
    jobs.run_import(running_runtime(), sent["id"])
    return show(client, sent["id"])


def show(client: Caller, import_id: str) -> dict[str, Any]:
    answer = client.get(f"/imports/{import_id}")
    assert answer.status_code == 200, answer.text
    found = dict(answer.json()["data"])
    counts = found["counts"]
    parts = ("created", "updated", "skipped", "failed")
    assert counts["received"] == sum(counts[part] for part in parts)
    return found


def counted(found: dict[str, Any]) -> dict[str, int]:
    return {name: number for name, number in found["counts"].items() if number}


def rows(runtime: Runtime, table: Any) -> int:
    with runtime.db.reading() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_an_import_is_queued_and_then_completed(client: Caller, runtime: Runtime) -> None:
    sent = send(client, chat("a"), chat("b"))
    assert set(sent) == SHOWN
    assert sent["status"] == "queued"
    assert sent["format"] == "native"
    assert set(sent["counts"].values()) == {0}
    assert sent["id"].startswith("imp_")
    jobs.run_import(running_runtime(), sent["id"])
    done = show(client, sent["id"])
    assert done["status"] == "completed"
    assert counted(done) == {"received": 2, "created": 2, "evaluationsQueued": 2}
    assert done["errors"] == []
    assert done["completedAt"] >= done["startedAt"] >= done["createdAt"]
    assert rows(runtime, Conversation) == 2
    assert rows(runtime, Evaluation) == 2
    with runtime.db.reading() as session:
        assert session.scalars(select(Import.sealed_documents)).all() == [None]


def test_documents_of_a_queued_import_are_encrypted(client: Caller, runtime: Runtime) -> None:
    send(client, chat("a", "My card is 4111 1111 1111 1111."))
    with runtime.db.reading() as session:
        [token] = session.scalars(select(Import.sealed_documents)).all()
        columns = repr(session.execute(select(Import.__table__)).all())
    assert "4111" not in columns
    assert runtime.keyring.key_id_of(token or "") == runtime.keyring.current_id


def test_importing_the_same_records_again_changes_nothing(client: Caller, runtime: Runtime) -> None:
    items = (
        chat("a"),
        {"kind": "campaign", "externalId": "c", "name": "Spring"},
        {"kind": "executive", "externalId": "e", "name": "Asha"},
        {"kind": "call_center", "externalId": "cc", "name": "Pune"},
    )
    first = run(client, *items)
    assert counted(first) == {"received": 4, "created": 4, "evaluationsQueued": 1}
    again = run(client, *items)
    assert counted(again) == {"received": 4, "skipped": 4}
    changed = run(client, chat("a", "Hello?", "Yes."), {**items[1], "name": "Autumn"})
    assert counted(changed) == {"received": 2, "updated": 2, "evaluationsQueued": 1}
    assert rows(runtime, Conversation) == 1
    assert rows(runtime, Message) == 2


def test_existing_records_can_be_skipped(client: Caller) -> None:
    run(client, {"kind": "campaign", "externalId": "c", "name": "Spring"})
    left = run(client, {"kind": "campaign", "externalId": "c", "name": "X"}, onConflict="skip")
    assert counted(left) == {"received": 1, "skipped": 1}
    [campaign] = client.get("/campaigns").json()["data"]
    assert campaign["name"] == "Spring"


def test_a_dry_run_reports_everything_and_writes_nothing(client: Caller, runtime: Runtime) -> None:
    run(client, chat("old"))
    before = [rows(runtime, table) for table in (Conversation, Engagement, Evaluation)]
    tried = run(
        client,
        chat("new", engagement="Audit"),
        chat("old"),
        chat("bad", role="x"),
        dryRun=True,
        createMissing=True,
    )
    assert tried["dryRun"] is True
    assert tried["status"] == "completed_with_errors"
    assert counted(tried) == {
        "received": 3,
        "created": 1,
        "skipped": 1,
        "failed": 1,
        "evaluationsQueued": 1,
    }
    assert [rows(runtime, table) for table in (Conversation, Engagement, Evaluation)] == before
    assert client.post(f"/imports/{tried['id']}").status_code == 202
    again = client.post(f"/imports/{tried['id']}")
    assert error_code(again) == "CONFLICT"
    assert "already confirmed" in again.json()["error"]["message"]


def test_an_invalid_record_does_not_stop_the_others(client: Caller) -> None:
    wrong = chat("wrong")
    wrong["messages"][1]["role"] = "wizard"
    an_import = run(
        client,
        chat("a"),
        wrong,
        chat("a"),
        {"kind": "party"},
        {"messages": []},
        chat("late", startedAt="2999-01-01T00:00:00Z"),
        chat("b", endedAt="2026-01-01T00:00:00Z", startedAt="2026-01-02T00:00:00Z"),
        chat("c", campaignId=f"camp_{NO_ID}"),
        chat("d", campaign="Nobody's"),
        {"kind": "call_center", "externalId": "x", "name": "X", "campaign": "Y"},
        chat("z"),
    )
    assert an_import["status"] == "completed_with_errors"
    assert counted(an_import) == {"received": 11, "created": 2, "failed": 9, "evaluationsQueued": 2}
    told = [(error["line"], error["externalId"], error["code"]) for error in an_import["errors"]]
    assert told == [
        (2, "wrong", "VALIDATION_ERROR"),
        (3, "a", "DUPLICATE"),
        (4, None, "UNKNOWN_KIND"),
        (5, None, "VALIDATION_ERROR"),
        (6, "late", "VALIDATION_ERROR"),
        (7, "b", "VALIDATION_ERROR"),
        (8, "c", "VALIDATION_ERROR"),
        (9, "d", "UNKNOWN_NAME"),
        (10, "x", "VALIDATION_ERROR"),
    ]
    assert an_import["errors"][0]["message"].startswith("messages[1].role: ")
    unknown = "campaign: There is no campaign of this name: correct it"
    assert unknown in an_import["errors"][7]["message"]


def test_only_the_first_hundred_errors_are_kept(client: Caller) -> None:
    an_import = run(client, *({"kind": "party", "externalId": str(n)} for n in range(150)))
    assert counted(an_import) == {"received": 150, "failed": 150}
    assert [error["externalId"] for error in an_import["errors"]] == [str(n) for n in range(100)]


def test_named_rows_that_do_not_exist_are_created_on_request(
    client: Caller, runtime: Runtime
) -> None:
    named = {"engagement": "Audit", "campaign": "Spring", "callCenter": "Pune", "executive": "Asha"}
    an_import = run(client, chat("a", **named), chat("b", **named), createMissing=True)
    assert counted(an_import) == {"received": 2, "created": 2, "evaluationsQueued": 2}
    run(client, chat("c", **named), createMissing=True)
    assert rows(runtime, Engagement) == 1
    assert rows(runtime, Campaign) == 1
    [campaign] = client.get("/campaigns").json()["data"]
    assert campaign["name"] == "Spring"
    assert campaign["counts"]["conversations"] == 3
    # Boards group agents by the call centre that they belong to.
    with runtime.db.reading() as session:
        [center_id] = session.scalars(select(CallCenter.id))
        assert session.scalars(select(Executive.call_center_id)).all() == [center_id]


def test_records_with_the_name_of_two_executives_fail(client: Caller) -> None:
    for key in "ab":
        client.call("PUT", f"/imports/executives/{key}", {"name": "Asha"})
    records = (chat("x", executive="Asha"), chat("y", executive="Tom"))
    an_import = run(client, *records, createMissing=True)
    assert counted(an_import) == {
        "received": 2,
        "created": 1,
        "failed": 1,
        "evaluationsQueued": 1,
    }
    assert an_import["errors"][0]["externalId"] == "x"


def test_defaults_apply_to_records_without_a_value(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    run(
        client,
        chat("a"),
        chat("b", language="hi"),
        defaults={"engagementId": engagement, "language": "en-GB", "campaignId": None},
        evaluate=False,
    )
    found = {row["externalId"]: row for row in client.get("/conversations").json()["data"]}
    assert {row["engagementId"] for row in found.values()} == {engagement}
    assert [found[key]["language"] for key in "ab"] == ["en-GB", "hi"]
    assert [row["evaluationId"] for row in found.values()] == [None, None]


def test_private_notes_of_tickets_are_not_judged(client: Caller) -> None:
    lines = (
        ("end-user", "Hello, my kettle is broken. Can I have another one?", "true"),
        ("agent", "What an annoying customer.", "false"),
        ("agent", "I am sorry. I will send another one today.", "true"),
    )
    rows = [
        f'35,{role},"<p>{text}</p>",{public},2026-07-01 09:3{number}:00 UTC'
        for number, (role, text, public) in enumerate(lines)
    ]
    content = "\n".join(["ticket_id,author_role,html_body,public,created_at", *rows])
    done = run(client, format="csv", content=content, preset="zendesk")
    assert done["errors"] == []
    assert counted(done) == {"received": 1, "created": 1, "evaluationsQueued": 1}
    evaluations.judge(running_runtime())
    [evaluation] = client.get("/evaluations").json()["data"]
    assert evaluation["conversationAt"] == "2026-07-01T09:30:00.000Z"
    transcript = client.get(f"/evaluations/{evaluation['id']}/transcript").json()["data"]
    assert [segment["text"] for segment in transcript["segments"]] == [lines[0][1], lines[2][1]]
    [stored] = client.get("/conversations").json()["data"]
    assert stored["executiveId"] is None
    both = content.replace("agent,", "agent,Ann Lee,").replace("user,", "user,Ida,")
    both = both.replace("author_role,", "author_role,author_name,")
    named = run(client, format="csv", content=both, preset="zendesk", createMissing=True)
    assert counted(named) == {"received": 1, "updated": 1, "evaluationsQueued": 1}
    [stored] = client.get("/conversations").json()["data"]
    with running_runtime().db.reading() as session:
        assert EXECUTIVES.names(session, [stored["executiveId"]]) == {
            stored["executiveId"]: "Ann Lee"
        }
    second = '35,agent,Cy,"<p>And I am the other one.</p>",true,2026-07-01 09:40:00 UTC'
    two = f"{both}\n{second}".replace("35,", "36,")
    assert (
        run(client, format="csv", content=two, preset="zendesk", createMissing=True)["errors"] == []
    )
    by_key = {row["externalId"]: row for row in client.get("/conversations").json()["data"]}
    assert by_key["36"]["executiveId"] is None
    refused = client.post("/imports", {"format": "csv", "content": content, "preset": "other"})
    assert refused.status_code == 422


def test_content_is_read_like_a_file(client: Caller) -> None:
    content = "conversation_id,speaker,text\nc1,Zoë,Hello\nc1,Max,Hi\nc2,Ann,Hi\n"
    an_import = run(
        client,
        format="csv",
        content=content,
        defaults={"roles": {"Zoë": "customer", "Max": "agent"}},
    )
    assert counted(an_import) == {
        "received": 2,
        "created": 1,
        "failed": 1,
        "evaluationsQueued": 1,
    }
    assert an_import["errors"] == [
        {
            "line": 4,
            "externalId": "c2",
            "code": "UNKNOWN_ROLE",
            "message": "The role of 'Ann' is unknown: map it to one of "
            "customer, agent, bot, system.",
        }
    ]


def test_subtitles_are_items_with_a_key(client: Caller) -> None:
    content = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v agent>Hello\n"
    an_import = run(
        client,
        {"externalId": "t1", "content": content},
        {"content": content},
        {"externalId": "t3", "content": "nonsense"},
        format="vtt",
        defaults={"channel": "chat"},
    )
    assert counted(an_import)["created"] == 2
    assert [error["externalId"] for error in an_import["errors"]] == ["t3"]
    keys = {row["externalId"] for row in client.get("/conversations").json()["data"]}
    assert "t1" in keys


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"items": "REQUIRED"}),
        ({"items": [{}], "content": ""}, {"items": "REQUIRED"}),
        ({"items": []}, {"items": "LENGTH"}),
        ({"items": ["a"]}, {"items[0]": "FORMAT"}),
        ({"format": "xml", "content": ""}, {"format": "ENUM"}),
        ({"format": "csv", "items": [{}]}, {"items": "FORMAT"}),
        ({"format": "vtt", "items": [{"text": ""}]}, {"items[0].text": "UNKNOWN"}),
        ({"format": "vtt", "items": [{"content": 5}]}, {"items[0].content": "TYPE"}),
        ({"content": 5}, {"content": "FORMAT"}),
        ({"content": "", "onConflict": "replace"}, {"onConflict": "ENUM"}),
        ({"content": "", "evaluate": "yes"}, {"evaluate": "TYPE"}),
        ({"content": "", "defaults": {"engagement": "A"}}, {"defaults.engagement": "UNKNOWN"}),
        ({"content": "", "defaults": {"channel": "fax"}}, {"defaults.channel": "ENUM"}),
        (
            {"content": "", "defaults": {"engagementId": f"eng_{NO_ID}"}},
            {"defaults.engagementId": "FORMAT"},
        ),
        (
            {"content": "", "defaults": {"roles": {"Al": "boss"}}},
            {"defaults.roles.Al.value": "ENUM"},
        ),
        ({"content": "", "scorecardId": f"sc_{NO_ID}"}, {"scorecardId": "FORMAT"}),
        ({"content": "", "priority": 1}, {"priority": "UNKNOWN"}),
    ],
)
def test_an_invalid_request_is_reported_field_by_field(
    shared_client: Caller, body: dict[str, Any], expected: dict[str, str]
) -> None:
    answer = shared_client.post("/imports", body)
    assert answer.status_code == 422, answer.text
    assert findings(answer) == expected


def test_a_body_over_one_mebibyte_is_refused(client: Caller) -> None:
    answer = client.post("/imports", {"content": "x" * 1024 * 1024})
    assert answer.status_code == 413


def send_lines(client: Caller, body: bytes, query: str = "", **headers: str) -> requests.Response:
    given = {"Content-Type": "application/x-ndjson", **headers}
    return client.post(f"/imports{query}", body, headers=given)


def test_a_body_of_json_lines_is_imported_with_the_options_of_the_query(
    client: Caller, runtime: Runtime
) -> None:
    lines = [chat("a", campaign="Returns"), chat("b"), "no record", chat("c")]
    body = "\n".join(map(json.dumps, lines)).encode()
    sent = send_lines(client, body, "?createMissing=true&evaluate=false", **KEY)
    assert sent.status_code == 202, sent.text
    import_id = sent.json()["data"]["id"]
    jobs.run_import(running_runtime(), import_id)
    shown = show(client, import_id)
    assert (shown["counts"]["created"], shown["counts"]["failed"]) == (3, 1)
    assert [error["line"] for error in shown["errors"]] == [3]
    assert shown["counts"]["evaluationsQueued"] == rows(runtime, Evaluation) == 0
    assert rows(runtime, Campaign) == 1
    again = send_lines(client, body, "?createMissing=true&evaluate=false", **KEY)
    assert again.json()["data"]["id"] == import_id


def test_a_body_of_json_lines_in_another_format_and_as_a_dry_run(
    client: Caller, runtime: Runtime
) -> None:
    messages = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "?"}]
    body = json.dumps({"id": "o1", "messages": messages}).encode()
    sent = send_lines(client, b"\xef\xbb\xbf" + body, "?format=openai&dryRun=true")
    jobs.run_import(running_runtime(), sent.json()["data"]["id"])
    shown = show(client, sent.json()["data"]["id"])
    assert (shown["format"], shown["dryRun"], shown["counts"]["created"]) == ("openai", True, 1)
    assert rows(runtime, Conversation) == 0


@pytest.mark.parametrize(
    ("body", "query", "status"),
    [
        (b"", "", 422),
        (b"{}", "?format=csv", 422),
        (b"{}", "?dryRun=maybe", 422),
        (b"{}", "?nonsense=1", 422),
        (b"\xff\xfe{}", "", 422),
        (b"x" * (1024 * 1024 + 1), "", 413),
    ],
)
def test_wrong_json_lines_are_refused(
    shared_client: Caller, body: bytes, query: str, status: int
) -> None:
    answer = send_lines(shared_client, body, query)
    assert answer.status_code == status, answer.text


def test_json_lines_are_for_imports_and_options_in_the_query_for_json_lines(client: Caller) -> None:
    refused = client.post("/imports?dryRun=true", {"items": [chat("a")]})
    assert error_code(refused) == "VALIDATION_ERROR"
    headers = {"Content-Type": "application/x-ndjson"}
    lines = client.post("/engagements", b"{}", headers=headers)
    assert lines.status_code == 415


def test_an_unknown_import_is_404(client: Caller) -> None:
    for import_id in (f"imp_{NO_ID}", f"eng_{NO_ID}", "imp_1"):
        assert error_code(client.get(f"/imports/{import_id}")) == "RESOURCE_NOT_FOUND"


def test_the_scope_is_required(base: str, make_caller: Callable[..., Caller]) -> None:
    reader = make_caller(base, scopes=["conversations:read"])
    assert error_code(reader.post("/imports", {"nonsense": 1})) == "INSUFFICIENT_SCOPE"
    assert error_code(reader.get(f"/imports/imp_{NO_ID}")) == "INSUFFICIENT_SCOPE"
    writer = make_caller(base, scopes=["ingest:write"])
    assert writer.post("/imports", {"items": [chat("a")]}).status_code == 202


def test_two_requests_with_one_idempotency_key_create_one_import(
    client: Caller, runtime: Runtime
) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = client.post("/imports", {"items": [chat("a")]}, headers=headers)
    again = client.post("/imports", {"items": [chat("a")]}, headers=headers)
    assert first.json()["data"]["id"] == again.json()["data"]["id"]
    assert rows(runtime, Import) == 1


def run_until_stopped(import_id: str, *, at_record: int) -> None:
    """Run an import in a worker that receives SIGTERM when it reads this record."""
    numbers = itertools.count(1)

    def normalised_or_stopped(*arguments: Any) -> Iterator[Any]:
        for record in normalised(*arguments):
            if next(numbers) == at_record:
                signal.raise_signal(signal.SIGTERM)
            yield record

    with stopped_by_signal(), patch.object(jobs, "normalised", normalised_or_stopped):
        jobs.run_import(running_runtime(), import_id)


def test_a_stopping_worker_leaves_the_rest_to_the_next_one(
    client: Caller, runtime: Runtime
) -> None:
    sent = send(client, *(chat(f"c{n}") for n in range(120)), chat("c0"))
    run_until_stopped(sent["id"], at_record=60)
    half = show(client, sent["id"])
    assert half["status"] == "queued"
    assert 0 < half["counts"]["received"] < 121
    assert rows(runtime, Conversation) == half["counts"]["created"]
    with runtime.db.reading() as session:
        assert jobs.due_ids(runtime) == [sent["id"]]
        assert session.scalars(select(Import.attempts)).all() == [0]
    jobs.run_import(running_runtime(), sent["id"])
    done = show(client, sent["id"])
    assert counted(done) == {
        "received": 121,
        "created": 120,
        "failed": 1,
        "evaluationsQueued": 120,
    }
    assert rows(runtime, Conversation) == 120


def interrupted(runtime: Runtime, import_id: str) -> None:
    """Fail an import as one that was interrupted too often."""
    with runtime.db.writing() as session:
        lease = leases.claim(session, import_id, Import)
        assert lease
        service.fail(session, lease, "INTERRUPTED", "The import was interrupted too often.")


def test_a_failed_import_continues_when_it_is_tried_again(client: Caller, runtime: Runtime) -> None:
    import_id = send(client, *(chat(f"c{n}") for n in range(120)))["id"]
    assert client.post(f"/imports/{import_id}").status_code == 409
    run_until_stopped(import_id, at_record=60)
    interrupted(runtime, import_id)
    assert 0 < show(client, import_id)["counts"]["received"] < 120
    retried = client.post(f"/imports/{import_id}")
    assert retried.status_code == 202
    assert (retried.json()["data"]["status"], retried.json()["data"]["error"]) == ("queued", None)
    jobs.run_import(running_runtime(), import_id)
    assert counted(show(client, import_id)) == {
        "received": 120,
        "created": 120,
        "evaluationsQueued": 120,
    }
    assert client.post(f"/imports/imp_{NO_ID}").status_code == 404


def test_the_documents_of_a_failed_import_are_kept_for_an_hour(
    client: Caller, runtime: Runtime
) -> None:
    import_id = send(client, chat("c"))["id"]
    interrupted(runtime, import_id)
    with time_machine.travel(utc_now() + timedelta(minutes=61)):
        jobs.forget_documents(runtime)
    refused = client.post(f"/imports/{import_id}")
    assert refused.status_code == 409
    assert "send them again" in refused.json()["error"]["message"]


def test_a_job_for_an_unknown_import_does_nothing(runtime: Runtime) -> None:
    jobs.run_import(running_runtime(), f"imp_{NO_ID}")
    assert jobs.due_ids(runtime) == []


def test_line_numbers_count_blank_lines(client: Caller) -> None:
    content = "\n".join([json.dumps(chat("a")), "", "{", json.dumps(chat("b"))])
    an_import = run(client, content=content)
    assert [(error["line"], error["code"]) for error in an_import["errors"]] == [(3, "MALFORMED")]
    assert counted(an_import)["created"] == 2


def test_old_imports_are_deleted(client: Caller, runtime: Runtime) -> None:
    old, new = run(client, chat("a")), run(client, chat("b"))
    with runtime.db.writing() as session:
        session.get_one(Import, old["id"]).completed_at = utc_now() - timedelta(days=91)
    jobs.purge(runtime)
    assert client.get(f"/imports/{old['id']}").status_code == 404
    assert client.get(f"/imports/{new['id']}").status_code == 200


def test_a_record_imported_without_evaluation_is_evaluated_later(client: Caller) -> None:
    run(client, chat("a"), evaluate=False)
    asked = run(client, chat("a"))
    assert counted(asked) == {"received": 1, "skipped": 1, "evaluationsQueued": 1}
    assert counted(run(client, chat("a"))) == {"received": 1, "skipped": 1}


def test_a_call_is_completed_and_evaluated_once(client: Caller, runtime: Runtime) -> None:
    call = {
        "kind": "voice_call",
        "externalId": "call",
        "status": "completed",
        "turns": [
            {"role": "bot", "text": "Hello, how can I help?", "startMs": 0, "endMs": 1500},
            {"role": "customer", "text": "I want to pay my bill.", "startMs": 1800, "endMs": 3000},
        ],
    }
    backwards = {**call, "externalId": "x", "turns": [{**call["turns"][0], "endMs": -1}]}  # type: ignore[dict-item]
    first = run(client, call, backwards, {**call, "externalId": "y", "durationSeconds": -5})
    assert counted(first) == {"received": 3, "created": 1, "failed": 2, "evaluationsQueued": 1}
    assert counted(run(client, call)) == {"received": 1, "skipped": 1}
    with runtime.db.reading() as session:
        assert session.scalars(select(Event.type)).all() == ["voice-call.completed"]


def test_two_concurrent_imports_create_each_record_once(client: Caller, runtime: Runtime) -> None:
    names = {"engagement": "Audit", "campaign": "Spring", "callCenter": "Pune", "executive": "Asha"}
    items = [chat(f"c{n}", **names) for n in range(40)]
    sent = [send(client, *each, createMissing=True)["id"] for each in (items, items[::-1])]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(jobs.run_import, running_runtime()), sent))
    counts = [show(client, import_id)["counts"] for import_id in sent]
    assert [count["received"] for count in counts] == [40, 40]
    assert sum(count["created"] for count in counts) == 40
    assert sum(count["evaluationsQueued"] for count in counts) == 40
    for table, number in ((Conversation, 40), (Evaluation, 40), (Engagement, 1), (Campaign, 1)):
        assert rows(runtime, table) == number
