"""The page where recordings and imports are added: uploads by signed links, dry runs, imports."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import requests

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.imports import jobs, service
from tests.caller import Caller
from tests.own_scorecards import create
from tests.recordings import CALL, upload
from tests.visitor import Visitor

JSON = {"Accept": "application/json", "Sec-Fetch-Dest": "empty"}
CHATS = (
    '{"externalId": "c-1", "messages": [{"role": "customer", "text": "Hello, my order is late."},'
    ' {"role": "agent", "text": "I am sorry, let me look."}]}\n'
    '{"externalId": "c-2", "messages": [{"role": "nobody", "text": "Hm."}]}\n'
)


def checked(runtime: Runtime, visitor: Visitor, name: str, text: str, **fields: str) -> str:
    """Send a file to a dry run, do the worker's work, and return the path of its page."""
    visitor.get("/add")
    answer = visitor.post("/add/imports", fields, files={"file": (name, text.encode())})
    assert answer.status_code == 303, answer.text
    worked(runtime, answer.headers["Location"])
    return str(answer.headers["Location"])


def worked(runtime: Runtime, path: str) -> None:
    jobs.run_import(runtime, path.rpartition("/")[2])


def listed(client: Caller) -> list[dict[str, Any]]:
    return list(client.get("/imports").json()["data"])


def test_a_dry_run_names_the_bad_line_and_the_import_counts_the_same(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    path = checked(runtime, reviewer, "chats.jsonl", CHATS)
    page = reviewer.get(path).text
    assert "Nothing was written yet." in page
    assert '<th scope="row" class="number">2</th><td>c-2</td>' in page
    assert client.get("/conversations").json()["data"] == []
    confirmed = reviewer.post(f"{path}/confirm")
    assert confirmed.status_code == 303
    worked(runtime, confirmed.headers["Location"])
    real, dry = listed(client)
    assert (real["dryRun"], dry["dryRun"]) == (False, True)
    assert real["counts"] == dry["counts"]
    assert (real["counts"]["created"], real["counts"]["failed"]) == (1, 1)
    assert [row["externalId"] for row in client.get("/conversations").json()["data"]] == ["c-1"]
    assert reviewer.post(f"{path}/confirm").status_code == 409
    statuses = client.get("/imports?status=completed").json()["data"]
    assert statuses == []


def test_the_documents_of_a_dry_run_are_deleted_after_an_hour(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    path = checked(runtime, visit("reviewer"), "chats.jsonl", CHATS)
    import_id = path.rpartition("/")[2]
    jobs.forget_documents(runtime)
    with runtime.db.writing() as session:
        service.forget_documents(session, before=utc_now() + timedelta(seconds=1))
    refused = client.post(f"/imports/{import_id}")
    assert refused.status_code == 409
    assert "deleted" in refused.json()["error"]["message"]


def test_columns_of_another_system_are_mapped(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    csv = "Ticket,role,text,When,Line\nt-1,agent,Hello.,2026-07-01 09:30:00,2\n"
    given = {"columns": "Ticket=externalId; When=sentAt; Line=ignore", "timezone": "Europe/London"}
    reviewer = visit("reviewer")
    path = checked(runtime, reviewer, "tickets.csv", csv, **given)
    worked(runtime, reviewer.post(f"{path}/confirm").headers["Location"])
    [conversation] = client.get("/conversations").json()["data"]
    assert conversation["externalId"] == "t-1"
    assert conversation["startedAt"] == "2026-07-01T08:30:00.000Z"


TICKETS = (
    "Ticket,By,Body,When,Mood\n"
    "t-1,Kunde,My card 4111 1111 1111 1111 does not work.,2026-07-01 09:30,bad\n"
    "t-1,Rep,I will look at it.,2026-07-01 09:40,bad\n"
    "t-2,Kunde,Hello?,2026-07-02 10:00,good\n"
)


def choice(**others: str) -> dict[str, str]:
    """Fields that the form of the columns sends."""
    columns = {"column-0": "externalId", "column-1": "role", "column-2": "text"}
    columns |= {"column-3": "sentAt", "column-4": "label", "timezone": "Europe/London"}
    roles = {"value-0": "Kunde", "role-0": "customer", "value-1": "Rep", "role-1": "agent"}
    return {**columns, **roles, **others}


def test_unknown_columns_are_chosen_shown_and_kept_under_a_name(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    path = checked(runtime, reviewer, "tickets.csv", TICKETS)
    assert reviewer.get(path).headers["Location"] == f"{path}/columns"
    page = reviewer.get(f"{path}/columns").text
    assert "4111" not in page
    assert "The role of &#39;Kunde&#39; is unknown" in page
    assert (
        reviewer.post(f"{path}/columns", choice(check="yes", **{"column-1": "ignore"})).status_code
        == 422
    )
    shown = reviewer.post(f"{path}/columns", choice(timezone="Nowhere"))
    assert shown.status_code == 422
    assert "timezone-problem" in shown.text
    preview = reviewer.post(f"{path}/columns", choice()).text
    assert "I will look at it." in preview
    assert "4111" not in preview
    assert 'datetime="2026-07-01T08:30:00.000Z"' in preview
    for name in ("Zendesk", "n" * 81):
        refused = reviewer.post(f"{path}/columns", choice(check="yes", presetName=name))
        assert refused.status_code == 422
        assert "presetName-problem" in refused.text
    again = reviewer.post(f"{path}/columns", choice(check="yes", presetName="Our desk"))
    assert again.status_code == 303
    assert reviewer.get(f"{path}/columns").status_code == 409
    worked(runtime, again.headers["Location"])
    assert "Change what the columns hold" in reviewer.get(again.headers["Location"]).text
    worked(runtime, reviewer.post(f"{again.headers['Location']}/confirm").headers["Location"])
    found = {row["externalId"]: row for row in client.get("/conversations").json()["data"]}
    assert found["t-1"]["startedAt"] == "2026-07-01T08:30:00.000Z"
    assert found["t-1"]["labels"] == {"Mood": "bad"}
    assert "Our desk" in reviewer.get("/add").text
    other = (
        TICKETS.replace(",Mood", "").replace(",bad", "").replace(",good", "").replace("t-", "u-")
    )
    path = checked(runtime, reviewer, "more.csv", other, preset="Our desk")
    assert "Would be created" in reviewer.get(path).text
    sent = {"format": "csv", "content": other.replace("u-", "v-"), "preset": "Our desk"}
    started = client.post("/imports", sent).json()["data"]
    jobs.run_import(runtime, started["id"])
    assert client.get(f"/imports/{started['id']}").json()["data"]["counts"]["created"] == 2
    refused = client.post("/imports", {**sent, "preset": "Her desk"})
    assert "zendesk, intercom" in refused.json()["error"]["details"][0]["message"]


def test_a_large_table_is_uploaded_and_its_columns_are_chosen(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    data = TICKETS.encode()
    form = {"fileName": "tickets.csv", "sizeBytes": str(len(data))}
    reserved = reviewer.post("/add/imports/uploads", form, headers=JSON).json()
    sent = requests.put(
        reviewer.base + reserved["uploadUrls"][0],
        data=data,
        headers={"Content-Type": reserved["contentType"]},
        timeout=30,
    )
    sent.raise_for_status()
    worked(runtime, reserved["url"])
    assert reviewer.get(reserved["url"]).headers["Location"] == f"{reserved['url']}/columns"
    again = reviewer.post(f"{reserved['url']}/columns", choice(check="yes")).headers["Location"]
    worked(runtime, again)
    worked(runtime, reviewer.post(f"{again}/confirm").headers["Location"])
    found = client.get("/conversations").json()["data"]
    assert {row["externalId"] for row in found} == {"t-1", "t-2"}
    for size in ("many", "9" * 15):
        refused = {**form, "sizeBytes": size}
        answer = reviewer.post("/add/imports/uploads", refused, headers=JSON)
        assert answer.status_code == 422


def test_only_tables_of_dry_runs_have_columns(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    path = checked(runtime, reviewer, "chats.jsonl", CHATS)
    assert reviewer.get(f"{path}/columns").status_code == 409
    sent = {"format": "csv", "content": TICKETS}
    real = client.post("/imports", sent).json()["data"]["id"]
    jobs.run_import(runtime, real)
    assert reviewer.get(f"/add/imports/{real}").status_code == 200
    assert reviewer.get(f"/add/imports/{real}/columns").status_code == 409
    assert visit("viewer").get(f"{path}/columns").status_code == 403


def test_a_file_of_one_record_has_its_name_as_key(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    vtt = "WEBVTT\n\n00:00.000 --> 00:02.000\n<v Agent>Hello, you speak to Tom.\n"
    reviewer = visit("reviewer")
    path = checked(runtime, reviewer, "call 7.vtt", vtt)
    worked(runtime, reviewer.post(f"{path}/confirm").headers["Location"])
    assert [call["externalId"] for call in client.get("/voice-calls").json()["data"]] == ["call 7"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("notes.txt", b"Buy milk.", "The format of notes.txt is unknown"),
        ("chats.csv", b"externalId,text\n1,\xff\xfe", "chats.csv is no UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_imported_is_refused_with_the_reason(
    client: Caller, visit: Callable[[str], Visitor], name: str, data: bytes, reason: str
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    answer = reviewer.post(
        "/add/imports",
        files={"file": (name, data)},
        headers={**JSON, "X-CQE-Token": reviewer.token},
    )
    assert answer.status_code == 422
    assert reason in answer.json()["error"]["details"][0]["message"]
    assert listed(client) == []


def test_an_upload_is_reserved_with_the_defaults_of_the_form(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    form = {"fileName": "a.wav", "contentType": "audio/wav", "sizeBytes": "4"}
    more = {"channels": "agent-right", "engagementId": ""}
    reserved = reviewer.post("/add/recordings", {**form, **more}, headers=JSON).json()
    (upload_url,) = reserved["uploadUrls"]
    assert upload_url.startswith("/storage/")
    requests.put(
        reviewer.base + upload_url,
        data=b"nope",
        headers={"Content-Type": "audio/wav"},
        timeout=30,
    ).raise_for_status()
    shown = client.get(f"/audio-files/{reserved['id']}").json()["data"]
    assert shown["channelMap"] == {"agent": 1, "customer": 0}
    assert shown["status"] == "queued"
    assert "a.wav" in reviewer.get("/add").text
    for size in ("many", "9" * 5_000):
        refused = reviewer.post("/add/recordings", {**form, "sizeBytes": size}, headers=JSON)
        assert refused.status_code == 422


def test_the_recording_of_a_voice_bot_call_says_so(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    audio_file_id = upload(client, b"nope")
    call = {"status": "completed", "recording": {"audioFileId": audio_file_id}}
    assert client.call("PUT", "/imports/voice-calls/bot-1", call).status_code == 201
    assert "Part of a voice bot call" in visit("reviewer").get("/add").text


def test_a_viewer_adds_nothing(visit: Callable[[str], Visitor]) -> None:
    viewer = visit("viewer")
    assert viewer.get("/add").status_code == 403
    assert viewer.post("/add/recordings").status_code == 403
    assert viewer.post("/add/imports").status_code == 403


def test_a_scorecard_that_is_chosen_judges_what_is_added(
    client: Caller, runtime: Runtime, visit: Callable[[str], Visitor]
) -> None:
    scorecard = create(client)
    lead = visit("lead")
    assert scorecard["name"] in lead.get("/add").text
    path = checked(runtime, lead, "chats.jsonl", CHATS, scorecardId=scorecard["id"])
    worked(runtime, lead.post(f"{path}/confirm").headers["Location"])
    (queued,) = client.get("/evaluations").json()["data"]
    assert queued["scorecardId"] == scorecard["id"]
    of_calls = create(client, channel="voice", name="Calls")["id"]
    body = CALL.read_bytes()
    named = {"fileName": "call.wav", "contentType": "audio/wav", "sizeBytes": str(len(body))}
    reserved = lead.post("/add/recordings", {**named, "scorecardId": of_calls}).json()
    (upload_url,) = reserved["uploadUrls"]
    sent = requests.put(
        client.base + upload_url, data=body, headers={"Content-Type": "audio/wav"}, timeout=30
    )
    assert sent.status_code == 201
    shown = client.get(f"/audio-files/{reserved['id']}").json()["data"]
    assert shown["status"] == "queued"
    judged = client.get(f"/evaluations/{shown['evaluationId']}").json()["data"]
    assert judged["scorecardId"] == of_calls


def test_files_whose_names_say_so_are_the_sides_of_one_call(
    visit: Callable[[str], Visitor],
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    names = ["7-in.wav", "other.mp3", "8_agent.wav", "7-out.wav", "8_caller.mp3", "9-rx.wav"]

    def pairs(**form: str) -> Any:
        return reviewer.post(
            "/add/pairs", {"fileNames": json.dumps(names), **form}, headers=JSON
        ).json()["pairs"]

    unknown, known = pairs()
    assert (unknown["name"], unknown["files"]) == ("7.wav", [0, 3])
    assert "depends on the direction of the call" in unknown["reason"]
    assert known == {"name": "8.wav", "files": [2, 4], "reason": ""}
    assert pairs(direction="inbound")[0] == {"name": "7.wav", "files": [3, 0], "reason": ""}
    assert pairs(direction="outbound")[0]["files"] == [0, 3]
    assert "does not match the name pattern" in pairs(names="twilio")[1]["reason"]


def test_what_the_log_of_calls_and_the_recordings_lack_of_each_other_is_listed(
    visit: Callable[[str], Visitor],
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    first, second = "CA" + 16 * "a1", "CA" + 16 * "b2"
    log = ("calls.csv", f"Call SID,Start Time\n{first},\n{second},\n".encode())
    # Twilio names a recording by its call and itself.
    of_first, of_none = f"{first}_RE{16 * 'c3'}.wav", f"RE{16 * 'd4'}.wav"

    def left(names: list[str], earlier: list[str]) -> Any:
        form = {
            "callsPreset": "twilio",
            "fileNames": json.dumps(names),
            "earlier": json.dumps(earlier),
        }
        return reviewer.post("/add/pairs", form, headers=JSON, files={"calls": log}).json()

    answer = left([of_first, of_none], [])
    assert answer["notInLog"] == [of_none]
    assert answer["callsLeft"] == {"names": [second], "more": 0}
    answer = left([f"{second}.wav"], [of_first, of_none])
    assert answer == {"pairs": [], "notInLog": [], "callsLeft": {"names": [], "more": 0}}


def test_the_log_of_calls_and_the_name_describe_a_recording(
    client: Caller, visit: Callable[[str], Visitor]
) -> None:
    reviewer = visit("reviewer")
    reviewer.get("/add")
    log = (
        "calls.csv",
        b"sid,from,to,direction,start_time\nRE7,3201,+4420,outbound-api,2026-07-01T09:30:00Z\n",
    )
    form = {"contentType": "audio/wav", "sizeBytes": "4", "callsPreset": "twilio"}

    def reserve(name: str, **more: str) -> requests.Response:
        fields = {**form, "fileName": name, "agents": "3201 = Ann Lee", **more}
        return reviewer.post("/add/recordings", fields, headers=JSON, files={"calls": log})

    found = reserve("RE7.wav").json()
    shown = client.get(f"/audio-files/{found['id']}").json()["data"]
    assert (shown["recordedAt"], shown["direction"]) == ("2026-07-01T09:30:00.000Z", "outbound")
    assert shown["executiveId"]
    for changes, says in (
        ({"names": "twilio"}, "does not match the name pattern"),
        ({"callsPreset": ""}, "Unknown columns: 'sid'"),
        ({"agents": "3201"}, "an extension and a name"),
        ({"timezone": "Nowhere"}, "IANA"),
    ):
        refused = reserve("RE9.wav", **changes)
        assert refused.status_code == 422
        assert says in refused.json()["error"]["details"][0]["message"]
