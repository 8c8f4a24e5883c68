"""Days of conversations: lists and reports count what was said on the day it was said."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.analytics import jobs as analytics
from app.core.clock import iso_utc, utc_now
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.privacy import jobs as privacy
from tests.caller import Caller
from tests.contacts import HELPFUL, get, judge, messages, put_call, put_chat
from tests.recordings import reserve
from tests.visitor import signed_in

TODAY = utc_now().replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(days=1)
UNTIMED = [{"role": role, "text": text} for role, text in HELPFUL]


def day(days_ago: int) -> datetime:
    return TODAY - timedelta(days=days_ago)


def of_day(days_ago: int, length: int = 1) -> dict[str, str]:
    """Return the parameters of some days from the one that is `days_ago`."""
    start = day(days_ago).replace(hour=0)
    return {"from": iso_utc(start), "to": iso_utc(start + timedelta(days=length))}


def chat_of(client: Caller, days_ago: int, **fields: Any) -> Any:
    at = iso_utc(day(days_ago))
    key = f"chat-{days_ago}"
    return put_chat(client, key, startedAt=at, endedAt=at, messages=UNTIMED, **fields)


@pytest.fixture
def brought_in(client: Caller) -> list[Any]:
    """Chats of 5, 50, 65 and 300 days ago, and one of an unknown time, all brought in today."""
    chats = [chat_of(client, days_ago) for days_ago in (5, 50, 65, 300)]
    chats.append(put_chat(client, "no-time", messages=UNTIMED))
    judge()
    return chats


def sources(client: Caller, **params: Any) -> list[str]:
    rows = get(client, "/evaluations", **params)
    return [row["externalId"] for row in rows]


def test_lists_go_by_the_day_of_the_conversation(client: Caller, brought_in: list[Any]) -> None:
    assert sources(client) == ["no-time", "chat-5", "chat-50", "chat-65", "chat-300"]
    assert sources(client, **of_day(50)) == ["chat-50"]
    assert sources(client, sort="conversationAt")[0] == "chat-300"
    now = {"from": iso_utc(utc_now() - timedelta(hours=1))}
    assert sources(client, **now) == ["no-time"]
    assert len(sources(client, byDay="judgement", **now)) == 5
    assert sources(client, byDay="judgement", **of_day(50)) == []
    assert client.get("/evaluations", params={"byDay": "week"}).status_code == 422
    rows = get(client, "/evaluations", sort="conversationAt")
    assert [row["conversationAt"] for row in rows[:4]] == [row["startedAt"] for row in rows[:4]]
    assert rows[4]["conversationAt"] == brought_in[4]["createdAt"]
    found = get(client, "/conversations", **of_day(65))
    assert [chat["externalId"] for chat in found] == ["chat-65"]
    assert get(client, "/conversations")[0]["externalId"] == "no-time"


@pytest.mark.parametrize("has_parts", [False, True])
def test_reports_count_conversations_on_their_days(
    client: Caller, runtime: Runtime, brought_in: list[Any], has_parts: bool
) -> None:
    if has_parts:
        analytics.tidy_parts(runtime)
        months = {
            file.name[:7] for file in (runtime.settings.data_dir / "analytics").glob("*.par*")
        }
        assert {day(days).isoformat()[:7] for days in (5, 50, 65, 300)} <= months
    month = of_day(60, length=30)
    shown = get(client, "/analytics/summary", compare="previous_period", **month)
    assert (shown["totals"]["evaluations"], shown["change"]["evaluations"]) == (1, 0)
    by_judgement = get(client, "/analytics/summary", byDay="judgement", **month)
    assert by_judgement["totals"]["evaluations"] == 0
    last_days = {"from": iso_utc(utc_now() - timedelta(days=7))}
    assert get(client, "/analytics/summary", **last_days)["totals"]["completed"] == 2
    counted = get(client, "/analytics/summary", byDay="judgement", **last_days)["totals"]
    assert (counted["completed"], counted["conversations"]) == (5, 5)
    [series] = get(client, "/analytics/trends", **of_day(100, length=100))["series"]
    days = [point["periodStart"][:10] for point in series["points"] if point["count"]]
    assert days == [day(days).isoformat()[:10] for days in (65, 50, 5)]
    [series] = get(client, "/analytics/trends", byDay="judgement", **last_days)["series"]
    assert [point["count"] for point in series["points"] if point["count"]] == [5]


def test_an_evaluation_stays_on_the_day_of_its_conversation(client: Caller) -> None:
    chat_of(client, 40)
    judge()
    [row] = get(client, "/evaluations", **of_day(40))
    again = client.post(f"/evaluations/{row['id']}/re-evaluate", {})
    assert again.status_code == 202
    judge()
    [row] = get(client, "/evaluations", **of_day(40))
    assert row["revision"] == 2
    # A start that the source corrects moves it.
    started = {"startedAt": iso_utc(day(30)), "endedAt": iso_utc(day(30))}
    put_chat(client, "chat-40", messages=UNTIMED, **started)
    judge()
    assert sources(client, **of_day(40)) == []
    assert sources(client, **of_day(30)) == ["chat-40"]
    # Without a start it counts on the day it came in, not on that of a later revision.
    put_chat(client, "chat-40", messages=UNTIMED)
    judge()
    [row] = get(client, "/evaluations")
    assert row["conversationAt"] == get(client, "/conversations")[0]["createdAt"]


def test_calls_and_recordings_have_days_too(client: Caller) -> None:
    at = day(20)
    times = {name: iso_utc(at) for name in ("startedAt", "answeredAt", "endedAt")}
    put_call(client, **times)
    reserve(client, recordedAt=iso_utc(at))
    reserve(client)
    [call] = get(client, "/voice-calls", **of_day(20))
    assert call["conversationAt"] == call["startedAt"]
    [recording] = get(client, "/audio-files", **of_day(20))
    assert recording["conversationAt"] == recording["recordedAt"]
    newest = get(client, "/audio-files")[0]
    assert newest["conversationAt"] == newest["createdAt"]
    # Not evaluated yet, it is a contact of its day.
    assert get(client, "/analytics/summary", **of_day(20))["totals"]["voiceCalls"] == 1


def test_exports_and_re_evaluations_select_by_these_days(
    client: Caller, brought_in: list[Any]
) -> None:
    def selected(**filters: Any) -> int:
        answer = client.post("/re-evaluations", {"filters": filters, "dryRun": True})
        assert answer.status_code == 202, answer.text
        return int(answer.json()["data"]["count"])

    assert selected(**of_day(50)) == 1
    assert selected(byDay="judgement", **of_day(50)) == 0
    assert selected(byDay="judgement") == 5
    for dataset in ("evaluations", "executives"):
        body = {"dataset": dataset, "format": "csv", "filters": {"byDay": "judgement"}}
        assert client.post("/analytics/export", body).status_code == 202


def test_texts_are_kept_from_the_day_of_the_conversation(
    client: Caller, runtime: Runtime, make_settings: Callable[..., Settings]
) -> None:
    old, young = chat_of(client, 40), chat_of(client, 5)
    judge()
    privacy.erase_old(runtime, make_settings(retention_texts_days=30))
    for chat, is_kept in ((old, False), (young, True)):
        messages = get(client, f"/conversations/{chat['id']}/messages")
        assert bool(messages[0]["text"]) is is_kept


def test_a_talk_of_the_first_century_has_a_part(client: Caller, runtime: Runtime) -> None:
    put_chat(client, startedAt=iso_utc(datetime(1, 1, 1, tzinfo=UTC)), messages=UNTIMED)
    judge()
    analytics.tidy_parts(runtime)
    files = [file.name[:7] for file in (runtime.settings.data_dir / "analytics").glob("*.par*")]
    assert files == ["0001-01"]


def test_pages_count_by_these_days(
    base: str, client: Caller, runtime: Runtime, brought_in: list[Any]
) -> None:
    visitor = signed_in(base, runtime, "viewer")
    path, heading = "/evaluations?days=90", '<h1>Evaluations <span class="muted">{}</span></h1>'
    assert heading.format(4) in visitor.get(path).text
    by_judgement = visitor.get(f"{path}&byDay=judgement").text
    assert heading.format(5) in by_judgement
    assert "Days: of the evaluation" in by_judgement


def test_a_page_writes_the_waits_of_an_email_in_hours(
    base: str, client: Caller, runtime: Runtime
) -> None:
    slow = messages()
    for place, message in enumerate(slow):
        message["sentAt"] = f"2026-11-{2 + place // 6:02}T{place % 6 * 4:02}:00:00Z"
    put_chat(client, messages=slow, platform="email")
    judge()
    [row] = get(client, "/evaluations")
    page = signed_in(base, runtime, "viewer").get(f"/evaluations/{row['id']}").text
    assert ">4.0 h</span>" in page
    assert "14,400" not in page
    assert ">4 h without a message<" in page
    assert '<span class="at muted">20 h</span>' in page
