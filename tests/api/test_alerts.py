"""Alerts over the API: rules with their trial, what they send, digests, and what they refuse."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

import orjson
import pytest
import requests
import time_machine
from sqlalchemy import select

from app.alerts import digests, jobs
from app.alerts.schemas import DigestCreate
from app.core.clock import utc_now
from app.core.hosts import WORKER, Host
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.events.models import Event
from app.privacy import jobs as erasures
from app.webhooks import history
from app.webhooks.models import Delivery, Subscription
from tests.caller import Caller, error_code, findings
from tests.contacts import judge, messages, put_chat
from tests.evaluation_rows import rows_of
from tests.visitor import signed_in

RUDE = (
    ("customer", "Hello, my parcel has not arrived and I am worried about it."),
    ("agent", "That is your own fault, you idiot. Shut up and stop wasting my time."),
    ("customer", "Pardon? I want my parcel."),
    ("agent", "I do not care. Goodbye."),
)


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    return serve(webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),))


def made(client: Caller, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"/alerts/{path}", body)
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


def mail_target(client: Caller) -> str:
    body = {"kind": "email", "address": "lead@example.com"}
    return str(made(client, "targets", body)["id"])


def sent(runtime: Runtime, event_type: str = "alert.raised") -> list[dict[str, Any]]:
    """Return the messages that were published, the oldest first."""
    with runtime.db.reading() as session:
        bodies = session.scalars(
            select(Event.body).where(Event.type == event_type).order_by(Event.occurred_at, Event.id)
        )
        return [orjson.loads(body)["data"] for body in bodies]


def lines(message: dict[str, Any]) -> list[str]:
    return [line["text"] for section in message["sections"] for line in section["lines"]]


def recent_chat(client: Caller, key: str, hours: int = 1) -> None:
    """Put in a chat of some hours ago, and judge it."""
    began = utc_now() - timedelta(hours=hours)
    body = [
        {**message, "sentAt": (began + timedelta(seconds=20 * number)).isoformat()}
        for number, message in enumerate(messages(RUDE))
    ]
    put_chat(client, key, messages=body, customerRef="customer-1")
    judge()


@pytest.mark.sql
def test_a_rule_tells_each_conversation_once_and_gathers_an_hour(
    client: Caller, runtime: Runtime
) -> None:
    target = mail_target(client)
    rule = made(
        client,
        "rules",
        {"name": "Low scores", "trigger": "score_below", "below": 95, "targetIds": [target]},
    )
    assert rule["trial"]["sentence"].startswith("In the last 30 days it would have sent 0 messages")
    recent_chat(client, "chat-1")
    jobs.send_alerts(runtime)
    [first] = sent(runtime)
    assert first["title"] == "Low scores"
    assert first["source_id"] == rule["id"]
    [line] = first["sections"][0]["lines"]
    assert re.search(r"/evaluations/eval_\w+$", line["url"])
    assert line["words"] is None
    with runtime.db.reading() as session:
        assert session.scalars(select(Delivery.subscription_id)).all() == [target]
    # What is judged again is not told again; what else comes waits for the hour, with the rest counted.
    for number in range(2, 9):
        recent_chat(client, f"chat-{number}")
    jobs.send_alerts(runtime)
    assert len(sent(runtime)) == 1
    with time_machine.travel(utc_now() + timedelta(minutes=61)):
        jobs.send_alerts(runtime)
        jobs.send_alerts(runtime)
    _, second = sent(runtime)
    assert len(lines(second)) == 6
    assert lines(second)[-1] == "and 2 more"


def test_old_conversations_and_switched_off_rules_tell_nothing(
    client: Caller, runtime: Runtime
) -> None:
    rule = made(client, "rules", {"name": "Low", "trigger": "score_below", "below": 95})
    recent_chat(client, "old", hours=24 * 8)
    jobs.send_alerts(runtime)
    changed = client.patch(f"/alerts/rules/{rule['id']}", {"active": False})
    assert changed.status_code == 200, changed.text
    recent_chat(client, "chat-1")
    jobs.send_alerts(runtime)
    assert sent(runtime) == []


@pytest.mark.sql
def test_words_are_quoted_only_if_asked_for_and_are_erased(
    client: Caller, runtime: Runtime
) -> None:
    made(client, "rules", {"name": "Low", "trigger": "score_below", "below": 95, "withWords": True})
    recent_chat(client, "chat-1")
    jobs.send_alerts(runtime)
    [message] = sent(runtime)
    assert "parcel" in str(message["sections"][0]["lines"][0]["words"]).lower()
    # What was told stays as long as the message, whose words it leads to.
    with time_machine.travel(utc_now() + timedelta(days=400), tick=False):
        jobs.purge(runtime)
    answer = client.post("/privacy/erase", {"customerRef": "customer-1"})
    assert answer.status_code == 202, answer.text
    erasures.run_erasure(runtime, answer.json()["data"]["erasureId"])
    [message] = sent(runtime)
    assert message["sections"][0]["lines"][0]["words"] is None


def test_a_named_criterion_and_disputes_ring(client: Caller, runtime: Runtime) -> None:
    recent_chat(client, "chat-1")
    [evaluation] = client.get("/evaluations").json()["data"]
    key = evaluation["failedCriteria"][0]
    rule = {"name": "One", "trigger": "criterion_failed", "criterion": key}
    assert made(client, "rules", rule)["trial"] == {
        "messages": 1,
        "matches": 1,
        "busiestDay": 1,
        "isNoisy": False,
        "sentence": "In the last 30 days it would have sent 1 message about 1 match.",
    }
    made(client, "rules", {**rule, "name": "Other", "criterion": "no.such"})
    made(client, "rules", {"name": "Opened", "trigger": "dispute_opened"})
    made(client, "rules", {"name": "Decided", "trigger": "dispute_decided"})
    recent_chat(client, "chat-2")
    path = f"/evaluations/{evaluation['id']}/reviews"
    for action in ("dispute", "reject_dispute"):
        review = {"action": action, "reviewer": "Nora", "reason": "The agent was polite."}
        assert client.post(path, review).status_code == 201
    jobs.send_alerts(runtime)
    assert sorted(message["title"] for message in sent(runtime)) == ["Decided", "One", "Opened"]


def test_a_noisy_rule_says_so_when_it_is_saved(client: Caller, runtime: Runtime) -> None:
    moment = utc_now().replace(hour=0, minute=0) - timedelta(days=2)
    rows_of(
        runtime,
        *(
            {"conversation_at": moment + timedelta(minutes=number), "auto_failed": True}
            for number in range(60)
        ),
    )
    trial = made(client, "rules", {"name": "All", "trigger": "auto_fail"})["trial"]
    assert (trial["matches"], trial["busiestDay"], trial["isNoisy"]) == (60, 60, True)
    assert "60 a day" in trial["sentence"]


def test_a_mean_rings_beyond_chance_alone(client: Caller, runtime: Runtime) -> None:
    made(client, "rules", {"name": "Mean", "trigger": "mean_down"})
    now = utc_now()
    groups = (
        (now - timedelta(days=10), (80, 90) * 15),
        (now - timedelta(days=2), (79, 89) * 15),
        # Which are not there yet at the first check.
        (now + timedelta(minutes=30), (40,) * 12),
    )
    rows_of(
        runtime,
        *(
            {"conversation_at": at, "score": score, "passed": True}
            for at, scores in groups
            for score in scores
        ),
    )
    jobs.check_rules(runtime)
    jobs.send_alerts(runtime)
    assert sent(runtime) == []
    with time_machine.travel(now + timedelta(minutes=61)):
        jobs.check_rules(runtime)
        jobs.check_rules(runtime)
        jobs.send_alerts(runtime)
    [message] = sent(runtime)
    assert re.match(r"Mean score \d\d\.\d over 7 days, \d\d\.\d below", lines(message)[0])


def test_the_service_rings_when_something_becomes_wrong(client: Caller, runtime: Runtime) -> None:
    made(client, "rules", {"name": "Worker", "trigger": "worker_silent"})
    made(client, "rules", {"name": "Failures", "trigger": "failures"})
    jobs.check_rules(runtime)
    now = utc_now()
    host = Host(
        id="h1",
        service=WORKER,
        name="west",
        roles=[],
        version="1",
        started_at=now,
        seen_at=now - timedelta(minutes=5),
        clock_offset_ms=0,
    )
    with runtime.db.writing() as session:
        session.add(host)
    rows_of(runtime, *({"created_at": now, "conversation_at": now, "status": "failed"},) * 4)
    for _ in range(2):
        jobs.check_rules(runtime)
    jobs.send_alerts(runtime)
    told = {message["title"]: lines(message) for message in sent(runtime)}
    assert told["Worker"][0].startswith("The worker of west is silent since")
    assert told["Failures"] == ["4 of 4 conversations of the last 24 hours could not be judged"]


@pytest.mark.sql
def test_a_digest_is_sent_at_its_hour_in_its_zone_and_ends_by_one_click(
    client: Caller, runtime: Runtime, base: str
) -> None:
    target = mail_target(client)
    values = DigestCreate().load(
        {"name": "Week", "targetId": target, "hour": 8, "timezone": "Pacific/Auckland"}
    )
    # Friday morning in Auckland is Thursday evening in UTC.
    wednesday = datetime(2026, 11, 25, 12, tzinfo=UTC)
    with time_machine.travel(wednesday, tick=False), runtime.db.writing() as session:
        digest = digests.DIGESTS.create(session, values, created_by="user")
    assert digest.next_at == datetime(2026, 11, 26, 19, tzinfo=UTC)
    week = datetime(2026, 11, 23, 12, tzinfo=UTC)
    common = {"passed": True, "confidence": 0.9, "executive": "Priya"}
    rows_of(
        runtime,
        *(
            {**common, "conversation_at": at, "score": score - n % 3}
            for at, score in ((week - timedelta(days=7), 80), (week, 60))
            for n in range(30)
        ),
        {**common, "conversation_at": week, "score": 20, "review_status": "disputed"},
        *(
            {**common, "conversation_at": at, "score": 30, "auto_failed": True}
            for at in (week, week - timedelta(days=20), week - timedelta(days=40))
        ),
    )
    with time_machine.travel(digest.next_at + timedelta(seconds=1), tick=False):
        jobs.send_digests(runtime)
        jobs.send_digests(runtime)
    [message] = sent(runtime, "digest.sent")
    assert message["title"] == "Week: 20 November to 26 November"
    changed, needed, heard = (section["lines"] for section in message["sections"])
    assert changed[0]["text"].startswith("Mean score down from 79.0 to")
    assert needed[0]["text"] == "Open disputes: 1"
    assert needed[1]["text"] == "Auto-fails of 30 days without a review: 2"
    # The list behind the link has as many.
    reviewer = signed_in(base, runtime, "reviewer")
    listed = reviewer.get(needed[1]["url"].partition("8000")[2]).text
    assert len(set(re.findall(r"/evaluations/(eval_\w+)", listed))) == 2
    assert heard[0]["text"] == "Priya, chat, 20 of 100: the lowest score"
    assert len(heard) == 3
    shown = client.get(f"/alerts/digests/{digest.id}/preview")
    assert shown.json()["data"]["unsubscribe_url"] == message["unsubscribe_url"]
    path = message["unsubscribe_url"].partition("8000")[2]
    page = requests.get(base + path, timeout=30)
    assert "Unsubscribe" in page.text
    assert client.get(f"/alerts/digests/{digest.id}").json()["data"]["active"] is True
    # As a mail program sends it: without a session, and from no page of ours.
    one_click = {"List-Unsubscribe": "One-Click"}
    assert requests.post(base + path, one_click, timeout=30).status_code == 200
    assert client.get(f"/alerts/digests/{digest.id}").json()["data"]["active"] is False
    assert requests.post(base + path[:-2] + "xx", one_click, timeout=30).status_code == 404


def test_a_digest_is_about_the_whole_days_since_the_last_one(
    client: Caller, runtime: Runtime
) -> None:
    common = {"name": "D", "targetId": mail_target(client), "timezone": "Europe/Berlin"}
    daily = made(client, "digests", {**common, "every": "day"})
    weekly = made(client, "digests", {**common, "every": "week"})
    first_hour = datetime(2027, 10, 24, 22, 30, tzinfo=UTC)
    low = {"score": 20, "passed": True, "confidence": 0.9, "executive": "Priya"}
    rows_of(runtime, {**low, "conversation_at": first_hour})

    def preview(digest: dict[str, Any], now: str) -> Any:
        with time_machine.travel(datetime.fromisoformat(f"{now}T08:00Z"), tick=False):
            return client.get(f"/alerts/digests/{digest['id']}/preview").json()["data"]

    # The clocks in Berlin go forward on 28 March 2027, and back on 31 October.
    for digest, now, days in (
        (weekly, "2027-03-29", "22 March to 28 March"),
        (daily, "2027-03-29", "26 March to 28 March"),
        (daily, "2027-03-30", "29 March"),
        (daily, "2027-10-31", "29 October to 30 October"),
        (daily, "2028-03-01", "29 February"),
        (weekly, "2028-01-01", "25 December to 31 December"),
    ):
        assert preview(digest, now)["title"] == f"D: {days}"
    assert "20 of 100" in str(preview(weekly, "2027-11-01")["sections"][2])


@pytest.mark.sql
def test_a_deleted_target_keeps_nothing_on_and_is_forgotten(
    client: Caller, runtime: Runtime
) -> None:
    target = mail_target(client)
    low = {"name": "Low", "trigger": "score_below", "below": 95, "targetIds": [target]}
    rule = f"/alerts/rules/{made(client, 'rules', low)['id']}"
    weekly = made(client, "digests", {"name": "Week", "targetId": target})
    recent_chat(client, "chat-1")
    assert client.delete(f"/webhooks/{target}").status_code == 204
    before = client.get(rule).headers["ETag"]
    for path in (rule, f"/alerts/digests/{weekly['id']}"):
        changed = client.patch(path, {"active": False})
        assert changed.status_code == 200, changed.text
    # Switched off, it forgets what it had to tell; that must not hide that it has changed.
    assert client.get(rule).headers["ETag"] != before
    jobs.purge(runtime)
    later = utc_now() + timedelta(days=400)
    with runtime.db.writing() as session:
        history.purge(session, before=later)
        assert session.get(Subscription, target) is None
    assert client.get("/alerts/digests").json()["data"] == []


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("rules", {"name": "x", "trigger": "score_below"}, "below"),
        ("rules", {"name": "x", "trigger": "auto_fail", "below": 5}, "below"),
        ("rules", {"name": "x", "trigger": "criterion_failed"}, "criterion"),
        ("rules", {"name": "x", "trigger": "auto_fail", "targetIds": [new_id("wh")]}, "targetIds"),
        ("rules", {"name": "x", "trigger": "usage", "filters": {"channel": "chat"}}, "filters"),
        ("rules", {"name": "x", "trigger": "auto_fail", "filters": {"team": "a"}}, "filters.team"),
        ("digests", {"name": "x", "targetId": new_id("wh")}, "targetId"),
        ("targets", {"kind": "email", "address": "lead@example.com\r\nBcc: x@y.z"}, "address"),
        ("targets", {"kind": "email", "address": "lead"}, "address"),
        ("targets", {"kind": "slack", "address": "http://hooks.slack.com/x"}, "address"),
        ("targets", {"kind": "teams", "address": "https://10.0.0.1/x"}, "address"),
    ],
)
def test_what_cannot_be_is_refused(
    shared_client: Caller, path: str, body: dict[str, Any], field: str
) -> None:
    answer = shared_client.post(f"/alerts/{path}", body)
    assert answer.status_code == 422, answer.text
    assert field in findings(answer)


def test_secrets_are_never_shown_and_targets_keep_their_address(client: Caller) -> None:
    url = "https://127.0.0.1/services/T0/B0/secret-token"
    made_target = client.post("/alerts/targets", {"kind": "slack", "address": url})
    assert made_target.status_code == 201, made_target.text
    target = made_target.json()["data"]
    assert target["url"] == "https://127.0.0.1/…"
    server = {"host": "127.0.0.1", "port": 587, "user": "me", "sender": "q@example.com"}
    assert client.call("PUT", "/alerts/mail-server", server).status_code == 422
    put = client.call("PUT", "/alerts/mail-server", {**server, "password": "hunter22"})
    assert put.status_code == 200, put.text
    # The password stays with its host and user, and goes to no other.
    assert client.call("PUT", "/alerts/mail-server", {**server, "port": 465}).status_code == 200
    moved = client.call("PUT", "/alerts/mail-server", {**server, "host": "127.0.0.2"})
    assert moved.status_code == 422
    path = f"/webhooks/{target['id']}"
    assert error_code(client.patch(path, {"url": "https://127.0.0.1/other"})) == "CONFLICT"
    assert error_code(client.post(f"{path}/rotate-secret", {})) == "CONFLICT"
    assert client.get("/webhooks").json()["data"] == []
    tested = client.post(f"{path}/test", {})
    assert tested.json()["data"]["event"] == "alert.raised"
    answers = [
        client.get(where).text
        for where in ("/alerts/targets", "/alerts/mail-server", f"{path}/deliveries")
    ]
    assert "secret-token" not in str(answers) + made_target.text
    assert "hunter22" not in str(answers) + put.text


def test_the_pages_set_up_what_sends_and_say_what_it_would_have_sent(
    base: str, client: Caller, runtime: Runtime
) -> None:
    admin = signed_in(base, runtime, "admin")
    assert "No rule yet" in admin.get("/messages").text
    assert "needs a target" in admin.get("/messages/digests").text
    admin.get("/messages/targets")
    target = {"kind": "slack", "address": "https://127.0.0.1/services/secret-token"}
    answer = admin.post("/messages/targets", target)
    assert answer.status_code == 303
    shown = admin.get(answer.headers["Location"].partition(base)[2] or answer.headers["Location"])
    assert "Slack" in shown.text
    assert "signing secret" not in shown.text
    assert "secret-token" not in shown.text
    bad = admin.post("/messages/targets", {**target, "address": "http://127.0.0.1/secret-token"})
    assert (bad.status_code, "secret-token" in bad.text) == (422, False)
    server = {"host": "127.0.0.1", "port": "587", "security": "tls", "sender": "q@example.com"}
    assert admin.post("/messages/mail-server", server).status_code == 303
    [target_id] = (row["id"] for row in client.get("/alerts/targets").json()["data"])
    rule = {"name": "Low", "trigger": "score_below", "below": "70", "targetIds": target_id}
    saved = admin.post("/messages", {**rule, "channel": "chat"})
    assert "it would have sent 0 messages" in saved.text
    assert "Channel: Chat" in saved.text
    refused = admin.post("/messages", {**rule, "below": ""})
    assert (refused.status_code, "needs below" in refused.text) == (422, True)
    digest = {"name": "Week", "targetId": target_id, "every": "week", "weekday": "4", "hour": "8"}
    made = admin.post("/messages/digests", {**digest, "timezone": "Europe/Berlin"})
    assert made.status_code == 303
    assert "What needs a person" in admin.get(made.headers["Location"]).text
    assert "Week" in admin.get("/messages/digests").text
    [row] = client.get("/alerts/rules").json()["data"]
    assert admin.post(f"/messages/rules/{row['id']}", {"change": "off"}).status_code == 303
    assert "Switched off" in admin.get("/messages").text
    admin.post(f"/messages/rules/{row['id']}", {"change": "delete"})
    assert client.get("/alerts/rules").json()["data"] == []
