"""Voice calls: fields, events, recordings, assessments, filters and sorts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from app.core.runtime import Runtime
from app.imports.jobs import run_import
from tests.caller import Caller, error_code, findings
from tests.contacts import call, get, judge, put, put_call, turns
from tests.conversations import completed
from tests.happenings import data_of, happened
from tests.recordings import CALL, reserve, upload
from tests.running import running_runtime

pytestmark = pytest.mark.sql

DATA = Path(__file__).parents[1] / "data"
SHOWN = {
    *("id", "externalId", "engagementId", "campaignId", "callCenterId", "executiveId", "botId"),
    *(
        "botName",
        "botVersion",
        "channel",
        "direction",
        "fromNumber",
        "toNumber",
        "status",
        "endReason",
    ),
    *("endedBy", "startedAt", "answeredAt", "endedAt", "durationSeconds", "ringSeconds"),
    *("language", "hasRecording", "hasTranscript", "outcome", "transferredToHuman", "latencyMs"),
    *("interruptionsByCustomer", "interruptionsByBot", "fallbackCount", "collectedFields"),
    *("evaluationId", "score", "epaStatus", "labels"),
    *("conversationAt", "createdAt", "updatedAt"),
}
NOBODY = "01m7y8acjwfq8bmhevp404058a"
DIMENSIONS = [
    *("opening", "understanding", "task_completion", "accuracy"),
    *("conversation_flow", "empathy_tone", "compliance", "closing"),
]
BARE: dict[str, Any] = {"turns": [], "startedAt": None, "answeredAt": None, "endedAt": None}


def test_a_call_has_all_its_fields(client: Caller) -> None:
    fields: dict[str, Any] = {
        "botVersion": "7",
        "endReason": "goal_reached",
        "endedBy": "bot",
        "outcome": "goal_met",
        "transferredToHuman": True,
        "fallbackCount": 1,
        "collectedFields": {"date": "2026-11-21", "parcels": 2, "fragile": False, "door": None},
        "labels": {"team": "north"},
    }
    made = put_call(client, **fields)
    assert set(made) == SHOWN
    assert {name: made[name] for name in fields} == fields
    assert (made["durationSeconds"], made["ringSeconds"]) == (29, 5)
    assert made["latencyMs"] == {"p50": 900, "p90": 980, "p95": 990, "max": 1000, "count": 3}
    assert (made["interruptionsByBot"], made["interruptionsByCustomer"]) == (0, 0)
    assert (made["hasRecording"], made["hasTranscript"]) == (False, True)
    assert get(client, f"/voice-calls/{made['id']}") == made
    assert get(client, "/voice-calls") == [made]


def test_phone_numbers_are_masked_in_every_response(client: Caller, runtime: Runtime) -> None:
    made = put_call(client)
    assert (made["fromNumber"], made["toNumber"]) == ("+** ** **** **18", "+**********78")
    odd = put_call(client, "odd", fromNumber="sip:alice@example.org", toNumber="7")
    assert (odd["fromNumber"], odd["toNumber"]) == ("***:*****@*******.*rg", "7")
    for number in ("7946", "9812345678", "alice"):
        assert get(client, "/voice-calls", q=number) == []
        assert number not in client.get("/voice-calls").text
        assert number not in client.get(f"/voice-calls/{made['id']}/epa-results").text
    assert "7946" not in str(data_of(runtime, "voice-call.completed"))


def test_unknown_fields_are_null(client: Caller) -> None:
    bare = put(client, "voice-calls", "bare", {"status": "in_progress"})
    told = {name for name, value in bare.items() if value not in (None, {}, False)}
    assert told == {
        *("id", "externalId", "channel", "direction", "status", "outcome", "epaStatus"),
        *("conversationAt", "createdAt", "updatedAt"),
    }
    assert (bare["direction"], bare["outcome"]) == ("unknown", "unknown")
    untimed = [{"role": turn["role"], "text": turn["text"]} for turn in turns()]
    made = put_call(client, "untimed", turns=untimed)
    assert (made["latencyMs"], made["interruptionsByBot"]) == (None, None)
    judge()
    shown = get(client, f"/voice-calls/{made['id']}/epa-results")
    assert shown["delivery"]["responseLatencyMs"] == {"p50": None, "p90": None}


def test_latencies_are_percentiles_whatever_their_source(client: Caller) -> None:
    listed = put_call(client, "a", latencyMs=[100, 200, 300, 400, 1000])
    assert listed["latencyMs"] == {"p50": 300, "p90": 760, "p95": 880, "max": 1000, "count": 5}
    given = put_call(client, "b", latencyMs={"p50": 250, "p90": 800.5})
    assert given["latencyMs"] == {
        "p50": 250,
        "p90": 800.5,
        **dict.fromkeys(("p95", "max", "count")),
    }


def test_the_end_of_a_call_is_published_once(client: Caller, runtime: Runtime) -> None:
    put(client, "campaigns", "spring", {"name": "Spring"})
    for status in ("queued", "ringing", "in_progress"):
        made = put_call(client, status=status, campaign="Spring", endedAt=None)
        assert made["epaStatus"] == "pending"
        assert made["evaluationId"] is None
    assert happened(runtime) == []
    put_call(client, campaign="Spring", endReason="hangup", query="?evaluate=false")
    put_call(client, campaign="Spring", endReason="hangup", fallbackCount=3)
    put_call(client, campaign="Spring", status="failed")
    assert happened(runtime) == ["voice-call.completed"]
    assert data_of(runtime, "voice-call.completed") == [
        {
            "voice_call_id": made["id"],
            "engagement_id": "",
            "campaign": "Spring",
            "status": "completed",
            "end_reason": "hangup",
            "direction": "outbound",
            "duration_seconds": 29,
            "started_at": "2026-11-20T09:30:00.000Z",
            "ended_at": "2026-11-20T09:30:29.000Z",
            "transferred": False,
        }
    ]


@pytest.mark.parametrize("status", ["no_answer", "busy", "canceled", "voicemail", "failed"])
def test_a_call_without_words_is_not_evaluated(
    client: Caller, runtime: Runtime, status: str
) -> None:
    made = put_call(client, **BARE, status=status)
    assert (made["evaluationId"], made["epaStatus"]) == (None, "not_applicable")
    [told] = data_of(runtime, "voice-call.completed")
    assert (told["status"], told["duration_seconds"], told["ended_at"]) == (status, None, None)
    shown = get(client, f"/voice-calls/{made['id']}/epa-results")
    assert (shown["status"], shown["overallScore"]) == ("not_applicable", None)
    assert (shown["dimensions"], shown["complianceFlags"]) == ([], [])


def test_the_assessment_shows_the_evaluation(client: Caller, runtime: Runtime) -> None:
    made = put_call(client, outcome="goal_met", collectedFields={"date": "tomorrow"})
    path = f"/voice-calls/{made['id']}/epa-results"
    assert get(client, path)["status"] == "pending"
    judge()
    shown = get(client, path)
    results = get(client, f"/evaluations/{shown['evaluationId']}/results")
    assert shown["status"] == get(client, f"/voice-calls/{made['id']}")["epaStatus"] == "completed"
    assert shown["overallScore"] == results["score"]
    grades = {"A": 90, "B": 75, "C": 60, "D": 50, "E": 0}
    assert shown["grade"] == next(
        name for name, least in grades.items() if results["score"] >= least
    )
    assert shown["subject"] == {
        "kind": "bot",
        "executiveId": None,
        "botId": "delivery",
        "name": "Nora",
    }
    assert [dimension["key"] for dimension in shown["dimensions"]] == DIMENSIONS
    assert sum(dimension["weight"] for dimension in shown["dimensions"]) == 100
    scores = {dimension["key"]: dimension["score"] for dimension in shown["dimensions"]}
    sections = {section["key"]: section["rawScore"] for section in results["sections"]}
    assert scores["opening"] == sections["opening"]
    assert scores["conversation_flow"] == sections["flow"]
    assert scores["closing"] == sections["closing"]
    delivery, metrics = shown["delivery"], results["metrics"]
    assert delivery["agentWpm"] == metrics["agentWpm"]
    assert delivery["responseLatencyMs"]["p90"] == metrics["latencyMsP90"]
    assert (delivery["pitchVariation"], delivery["energy"]) == (None, None)
    assert shown["outcome"] == {
        "goal": "goal_met",
        "met": True,
        "confidence": None,
        "fields": {"date": "tomorrow"},
    }
    assert shown["complianceFlags"] == []
    assert shown["strengths"] == results["coaching"]["strengths"]
    assert shown["scorecardId"] == results["scorecard"]["id"]
    assert happened(runtime) == ["voice-call.completed", "evaluation.completed"]
    [judged] = data_of(runtime, "evaluation.completed")
    assert (judged["channel"], judged["duration_seconds"]) == ("voice_bot", 29)


def test_the_benchmark_compares_stored_evaluations(client: Caller) -> None:
    put(client, "campaigns", "spring", {"name": "Spring"})
    good = put_call(client, "good", campaign="Spring")
    slow = [
        {**turn, "startMs": 9 * turn["startMs"], "endMs": 9 * turn["endMs"]} for turn in turns()
    ]
    bad = put_call(client, "bad", campaign="Spring", turns=slow)
    other = put_call(client, "other", botId="another")
    judge()
    scores = {
        key: get(client, f"/voice-calls/{made['id']}")["score"]
        for key, made in (("good", good), ("bad", bad), ("other", other))
    }
    assert scores["bad"] < scores["good"]
    mean = (scores["good"] + scores["bad"]) / 2
    shown = [get(client, f"/voice-calls/{one['id']}/epa-results") for one in (good, bad, other)]
    assert shown[0]["benchmark"] == {
        "executiveMean": mean,
        "campaignMean": mean,
        "percentile": 100,
    }
    assert shown[1]["benchmark"]["percentile"] == 50
    assert shown[2]["benchmark"] == {
        "executiveMean": scores["other"],
        "campaignMean": None,
        "percentile": None,
    }


def _spoken(role: str, start_ms: int, text: str) -> dict[str, Any]:
    """A turn of words that last 200 ms each, and that ends four seconds after the last one."""
    words: list[dict[str, Any]] = [
        {"text": word, "startMs": start_ms + 200 * place, "endMs": start_ms + 200 * (place + 1)}
        for place, word in enumerate(text.split())
    ]
    end_ms = words[-1]["endMs"] + 4_000
    return {"role": role, "text": text, "startMs": start_ms, "endMs": end_ms, "words": words}


PEOPLE = (
    _spoken("agent", 0, "Good morning, this is Asha of Northwind. How can I help you today?"),
    _spoken("customer", 4_000, "My parcel is late. My card is 4111 1111 1111 1111 by the way."),
    _spoken(
        "agent", 8_000, "I am sorry about that. It will arrive tomorrow at noon. Anything else?"
    ),
    _spoken("customer", 12_000, "No, that is all I need. Thank you and goodbye."),
)


def test_a_call_of_people_is_judged_as_such_by_the_times_of_its_words(client: Caller) -> None:
    made = put_call(client, turns=PEOPLE, botId=None, botName=None)
    assert (made["channel"], made["interruptionsByCustomer"]) == ("voice", 0)
    judge()
    shown = get(client, f"/voice-calls/{made['id']}")
    evaluation = get(client, f"/evaluations/{shown['evaluationId']}")
    assert evaluation["channel"] == "voice"
    results = get(client, f"/evaluations/{shown['evaluationId']}/results")
    assert results["scorecard"]["name"] == "Voice call"
    assert results["metrics"]["overtalkMs"] == 0
    assert results["metricsUncertain"] == []
    transcript = get(
        client, f"/evaluations/{shown['evaluationId']}/transcript", includeWords="true"
    )
    said = [word["text"] for word in transcript["segments"][1]["words"]]
    assert len(said) == len(PEOPLE[1]["words"])
    assert not any("1111" in word for word in said)
    assert put_call(client, turns=PEOPLE, channel="voice_bot")["channel"] == "voice_bot"


def test_a_call_without_times_of_words_says_what_is_uncertain(client: Caller) -> None:
    turns_only = [{name: turn[name] for name in turn if name != "words"} for turn in PEOPLE]
    made = put_call(client, turns=turns_only, botId=None, botName=None)
    judge()
    shown = get(client, f"/voice-calls/{made['id']}")
    results = get(client, f"/evaluations/{shown['evaluationId']}/results")
    assert results["metrics"]["overtalkMs"] > 0
    assert "overtalkMs" in results["metricsUncertain"]


def test_too_few_words_fail_with_their_reason(client: Caller, runtime: Runtime) -> None:
    made = put_call(client, turns=turns()[:2])
    judge()
    shown = get(client, f"/voice-calls/{made['id']}/epa-results")
    assert (shown["status"], shown["overallScore"], shown["grade"]) == ("failed", None, None)
    evaluation = get(client, f"/evaluations/{shown['evaluationId']}")
    assert evaluation["error"]["code"] == "INSUFFICIENT_CONTENT"
    assert happened(runtime) == ["voice-call.completed", "conversation.failed"]


def test_a_recorded_call_is_evaluated_once_it_has_a_transcript(
    client: Caller, runtime: Runtime
) -> None:
    body = CALL.read_bytes()
    audio_file_id = upload(client, body)
    made = put_call(client, turns=[], recording={"audioFileId": audio_file_id})
    assert (made["hasRecording"], made["hasTranscript"]) == (True, False)
    assert (made["evaluationId"], made["epaStatus"]) == (None, "pending")
    link = get(client, f"/voice-calls/{made['id']}/recording-url")
    assert set(link) == {
        *("voiceCallId", "recordingUrl", "expiresAt", "contentType", "channels"),
        *("durationSeconds", "redacted"),
    }
    assert (link["contentType"], link["channels"], link["redacted"]) == ("audio/wav", None, False)
    assert requests.get(link["recordingUrl"], timeout=10).content == body
    with runtime.db.writing() as session:
        completed(session, source_type="audio_file", source_id=audio_file_id, channel="voice")
    assert get(client, f"/voice-calls/{made['id']}")["epaStatus"] == "pending"
    judge()
    shown = get(client, f"/voice-calls/{made['id']}")
    assert (shown["hasTranscript"], shown["epaStatus"]) == (True, "completed")
    transcript = get(client, f"/evaluations/{shown['evaluationId']}/transcript")
    assert {segment["role"] for segment in transcript["segments"]} == {"bot", "customer"}
    assert transcript["sourceType"] == "voice_call"
    assert happened(runtime).count("evaluation.completed") == 2


def test_a_missing_recording_is_404(client: Caller) -> None:
    silent = put_call(client)
    announced = reserve(client)["audioFileId"]
    waiting = put_call(client, "b", turns=[], recording={"audioFileId": announced})
    for made in (silent, waiting):
        answer = client.get(f"/voice-calls/{made['id']}/recording-url")
        assert (answer.status_code, error_code(answer)) == (404, "RESOURCE_NOT_FOUND")


def test_every_filter_selects_its_calls(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    audio_file_id = reserve(client)["audioFileId"]
    other = put_call(client, "other", "?evaluate=false")
    wanted = put_call(
        client,
        "wanted",
        status="busy",
        direction="inbound",
        outcome="callback",
        botId="survey",
        botName="Otto",
        transferredToHuman=True,
        engagementId=engagement,
        startedAt="2026-10-01T00:00:00Z",
        recording={"audioFileId": audio_file_id},
    )
    for filters in (
        {"engagementId": engagement},
        {"botId": "survey"},
        {"direction": "inbound"},
        {"status": "busy,no_answer"},
        {"outcome": "callback"},
        {"hasRecording": "true"},
        {"transferredToHuman": "true"},
        {"q": "otto"},
        {"q": "WANT"},
        {"from": "2026-09-30", "to": "2026-10-02"},
    ):
        data = get(client, "/voice-calls", **filters)
        assert [row["id"] for row in data] == [wanted["id"]], filters
    for filters in ({"hasRecording": "false"}, {"transferredToHuman": "false"}, {"q": "nora"}):
        data = get(client, "/voice-calls", **filters)
        assert [row["id"] for row in data] == [other["id"]], filters
    for sort in ("startedAt", "durationSeconds", "score", "createdAt"):
        assert len(get(client, "/voice-calls", sort=f"-{sort}")) == 2
    assert get(client, "/voice-calls", sort="startedAt")[0]["id"] == wanted["id"]
    for params, expected in (
        ({"language": "en"}, {"language": "UNKNOWN"}),
        ({"status": "ended"}, {"status": "ENUM"}),
        ({"sort": "botId"}, {"sort": "ENUM"}),
    ):
        assert findings(client.get("/voice-calls", params=params)) == expected


def test_reading_requires_its_scope_and_writing_is_not_allowed(
    base: str, client: Caller, make_caller: Callable[..., Caller]
) -> None:
    made = put_call(client)
    one = f"/voice-calls/{made['id']}"
    reader = make_caller(base, scopes=["voice:read"])
    stranger = make_caller(base, scopes=["conversations:read", "audio:download"])
    for path in ("/voice-calls", one, f"{one}/epa-results", f"{one}/recording-url"):
        assert reader.get(path).status_code in (200, 404)
        assert error_code(stranger.get(path)) == "INSUFFICIENT_SCOPE"
        assert client.post(path, {}).status_code == 405
    unknown: Any
    for unknown in (f"call_{NOBODY}", made["id"].replace("call", "conv"), "x"):
        for path in ("", "/epa-results", "/recording-url"):
            assert client.get(f"/voice-calls/{unknown}{path}").status_code == 404
    assert call()["status"] == "completed"


def test_the_metrics_of_a_published_call_are_near_those_of_its_vendor(client: Caller) -> None:
    document = json.loads((DATA / "calls" / "contact-lens.json").read_text())
    sent = client.post("/imports", {"format": "contact_lens", "items": [document]})
    run_import(running_runtime(), sent.json()["data"]["id"])
    judge()
    (evaluation,) = client.get("/evaluations").json()["data"]
    assert evaluation["channel"] == "voice"
    results = client.get(f"/evaluations/{evaluation['id']}/results").json()["data"]
    measured, vendor = results["metrics"], document["ConversationCharacteristics"]
    talked = {
        side: figures["TotalTimeMillis"]
        for side, figures in vendor["TalkTime"]["DetailsByParticipant"].items()
    }
    assert results["metricsUncertain"] == []
    assert measured["talkRatio"] == pytest.approx(talked["AGENT"] / sum(talked.values()), abs=0.03)
    assert measured["agentTalkMs"] == pytest.approx(talked["AGENT"], rel=0.12)
    # Amazon counts pauses of up to 1.8 s as talk, of which the customer makes more.
    assert measured["customerTalkMs"] == pytest.approx(talked["CUSTOMER"], rel=0.17)
    pace = vendor["TalkSpeed"]["DetailsByParticipant"]
    for side, share in (("agent", 0.12), ("customer", 0.17)):
        expected = pace[side.upper()]["AverageWordsPerMinute"]
        assert measured[f"{side}Wpm"] == pytest.approx(expected, rel=share)
    # The turns as wholes overlap for 18.3 s, with seven interruptions.
    interruptions = measured["interruptionsByAgent"] + measured["interruptionsByCustomer"]
    assert (measured["overtalkMs"], interruptions) == (3_070, 1)
