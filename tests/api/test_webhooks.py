"""Webhooks over the API: shapes, refusals, and what the history shows."""

from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import select, update

from app.core.clock import iso_utc, utc_now
from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType
from app.webhooks import history, signing
from app.webhooks.models import Delivery, Subscription
from tests.caller import Caller, error_code, findings
from tests.running import running_runtime

URL = "https://127.0.0.1/hook"
TYPES = ["evaluation.completed", "export.ready"]
FIELDS = {
    "id",
    "url",
    "events",
    "description",
    "active",
    "created_at",
    "updated_at",
    "failing_since",
    "deactivated_at",
}
LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    """A service whose webhooks may go to loopback addresses."""
    return serve(webhook_allowed_cidrs=LOOPBACK)


@pytest.fixture
def made(client: Caller) -> dict[str, Any]:
    """A subscription to two types, with its secret."""
    return create(client)


def create(client: Caller, **changes: Any) -> dict[str, Any]:
    response = client.post("/webhooks", {"url": URL, "events": TYPES, **changes})
    assert response.status_code == 201, response.text
    data: dict[str, Any] = response.json()["data"]
    return data


def publish(event: EventType = EventType.EVALUATION_COMPLETED, count: int = 1) -> None:
    with running_runtime().db.writing() as session:
        for _ in range(count):
            outbox.publish(session, event, CATALOGUE[event].sample)


def set_states(state: str) -> None:
    with running_runtime().db.writing() as session:
        session.execute(update(Delivery).values(state=state, attempts=3, finished_at=utc_now()))


def deliveries(client: Caller, webhook: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    response = client.get(f"/webhooks/{webhook['id']}/deliveries", params=query)
    assert response.status_code == 200, response.text
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def test_a_change_to_the_same_values_changes_nothing(client: Caller, made: dict[str, Any]) -> None:
    del made["signing_secret"]
    same = {name: made[name] for name in ("url", "events", "active", "description")}
    first = client.patch(f"/webhooks/{made['id']}", {})
    assert first.json()["data"] == made
    second = client.patch(f"/webhooks/{made['id']}", same)
    assert second.json()["data"] == made
    assert second.headers["ETag"] == first.headers["ETag"]
    changed = client.patch(f"/webhooks/{made['id']}", {"active": False})
    assert changed.json()["data"]["updated_at"] > made["updated_at"]
    assert changed.headers["ETag"] != first.headers["ETag"]


def test_a_new_subscription_is_active_and_shows_its_secret_this_once(client: Caller) -> None:
    made = create(client, description="to the warehouse")
    assert set(made) == FIELDS | {"signing_secret"}
    assert made["id"].startswith("wh_")
    assert made["active"] is True
    assert made["events"] == TYPES
    assert made["description"] == "to the warehouse"
    assert made["signing_secret"].startswith("whsec_")
    [listed] = client.get("/webhooks").json()["data"]
    assert set(listed) == FIELDS
    assert listed == {name: made[name] for name in FIELDS}
    changed = client.patch(f"/webhooks/{made['id']}", {"description": None}).json()["data"]
    assert set(changed) == FIELDS


def test_the_list_is_a_page(client: Caller) -> None:
    ids = [create(client)["id"] for _ in range(3)]
    answer = client.get("/webhooks", params={"page": 2, "pageSize": 2}).json()
    assert [row["id"] for row in answer["data"]] == ids[:1]
    assert answer["pagination"]["totalCount"] == 3


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"events": TYPES}, "url", "REQUIRED"),
        ({"url": URL}, "events", "REQUIRED"),
        ({"url": URL, "events": []}, "events", "LENGTH"),
        ({"url": URL, "events": ["export.ready"] * 2}, "events", "FORMAT"),
        ({"url": URL, "events": ["no.such"]}, "events[0]", "ENUM"),
        ({"url": URL, "events": "export.ready"}, "events", "TYPE"),
        ({"url": URL, "events": TYPES, "active": False}, "active", "UNKNOWN"),
        ({"url": URL, "events": TYPES, "signing_secret": "x"}, "signing_secret", "UNKNOWN"),
        ({"url": "http://127.0.0.1/", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://u:p@127.0.0.1/", "events": TYPES}, "url", "FORMAT"),
        ({"url": URL + "#part", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://10.0.0.1/", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://169.254.169.254/", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://8.8.8.8:8080/", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://nowhere.invalid/", "events": TYPES}, "url", "FORMAT"),
        ({"url": "https://127.0.0.1/" + "a" * 2048, "events": TYPES}, "url", "LENGTH"),
        ({"url": 5, "events": TYPES}, "url", "TYPE"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    shared_client: Caller, body: dict[str, Any], field: str, code: str
) -> None:
    response = shared_client.post("/webhooks", body)
    assert response.status_code == 422
    assert findings(response) == {field: code}


def test_a_refused_address_names_the_setting(client: Caller) -> None:
    response = client.post("/webhooks", {"url": "https://10.0.0.1/", "events": TYPES})
    assert "CQE_WEBHOOK_ALLOWED_CIDRS" in response.json()["error"]["details"][0]["message"]


def test_a_changed_url_is_held_to_the_same_rules(client: Caller, made: dict[str, Any]) -> None:
    response = client.patch(f"/webhooks/{made['id']}", {"url": "https://192.168.0.1/"})
    assert findings(response) == {"url": "FORMAT"}
    moved = client.patch(f"/webhooks/{made['id']}", {"url": URL + "2"})
    assert moved.json()["data"]["url"] == URL + "2"


def test_the_etag_guards_a_change(client: Caller, made: dict[str, Any]) -> None:
    path = f"/webhooks/{made['id']}"
    first = client.patch(path, {"events": ["export.ready"]})
    stale = first.headers["ETag"]
    assert client.patch(path, {"active": False}, headers={"If-Match": stale}).status_code == 200
    refused = client.patch(path, {"active": True}, headers={"If-Match": stale})
    assert (refused.status_code, error_code(refused)) == (412, "PRECONDITION_FAILED")


def test_an_idempotent_create_gives_the_same_secret_again(client: Caller) -> None:
    body = {"url": URL, "events": TYPES}
    first, again = (
        client.post("/webhooks", body, headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["data"] == first.json()["data"]
    assert len(client.get("/webhooks").json()["data"]) == 1


def test_the_fifty_first_is_a_conflict(client: Caller) -> None:
    for _ in range(50):
        create(client)
    response = client.post("/webhooks", {"url": URL, "events": TYPES})
    assert (response.status_code, error_code(response)) == (409, "CONFLICT")


def test_an_event_shows_as_a_pending_delivery(client: Caller, made: dict[str, Any]) -> None:
    publish()
    publish(EventType.AUDIO_PROCESSED)
    [delivery] = deliveries(client, made)
    assert set(delivery) == {
        "id",
        "webhook_id",
        "event_id",
        "event",
        "status",
        "trigger",
        "attempt_count",
        "attempts",
        "next_attempt_at",
        "url",
        "payload",
        "created_at",
        "completed_at",
    }
    assert delivery["webhook_id"] == made["id"]
    assert delivery["event"] == "evaluation.completed"
    assert delivery["status"] == "pending"
    assert delivery["trigger"] == "event"
    assert delivery["attempt_count"] == 0
    assert delivery["attempts"] == []
    assert delivery["next_attempt_at"] is not None
    assert delivery["completed_at"] is None
    assert delivery["payload"]["id"] == delivery["event_id"]
    assert set(delivery["payload"]) == {"id", "event", "timestamp", "data"}


def test_the_history_has_filters(client: Caller, made: dict[str, Any]) -> None:
    publish(count=2)
    set_states("failed")
    publish(EventType.EXPORT_READY)
    assert len(deliveries(client, made)) == 3
    assert len(deliveries(client, made, status="failed")) == 2
    assert len(deliveries(client, made, event="export.ready")) == 1
    later = iso_utc(utc_now() + timedelta(minutes=1))
    assert deliveries(client, made, **{"from": later}) == []
    assert len(deliveries(client, made, to=later)) == 3
    path = f"/webhooks/{made['id']}/deliveries"
    assert client.get(path, params={"status": "lost"}).status_code == 422
    assert client.get(path, params={"state": "failed"}).status_code == 422


def test_a_test_is_accepted_and_marked(client: Caller, made: dict[str, Any]) -> None:
    response = client.post(f"/webhooks/{made['id']}/test")
    assert response.status_code == 202
    started = response.json()["data"]
    assert set(started) == {"delivery_id", "event_id", "event", "status"}
    assert started["event"] == TYPES[0]
    assert started["status"] == "pending"
    chosen = client.post(f"/webhooks/{made['id']}/test", {"event": TYPES[1]})
    assert chosen.json()["data"]["event"] == TYPES[1]
    other = client.post(f"/webhooks/{made['id']}/test", {"event": "audio.processed"})
    assert findings(other) == {"event": "ENUM"}
    newest, oldest = deliveries(client, made)
    assert oldest["id"] == started["delivery_id"]
    assert newest["trigger"] == "test"
    assert newest["payload"]["data"]["test"] is True


def test_a_deleted_subscription_keeps_its_history_and_nothing_else(
    client: Caller, made: dict[str, Any]
) -> None:
    publish()
    path = f"/webhooks/{made['id']}"
    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 404
    assert client.patch(path, {"active": True}).status_code == 404
    assert client.post(path + "/test").status_code == 404
    assert client.post(path + "/recover").status_code == 404
    assert client.post(path + "/rotate-secret").status_code == 404
    assert client.get("/webhooks").json()["data"] == []
    [delivery] = deliveries(client, made)
    assert (delivery["status"], delivery["attempt_count"]) == ("canceled", 0)
    publish()
    assert len(deliveries(client, made)) == 1


def test_an_unknown_subscription_is_not_found(client: Caller) -> None:
    for method, path in [
        ("PATCH", "/webhooks/wh_none"),
        ("DELETE", "/webhooks/wh_none"),
        ("POST", "/webhooks/wh_none/test"),
        ("GET", "/webhooks/wh_none/deliveries"),
        ("POST", "/webhooks/wh_none/deliveries/dlv_none/redeliver"),
    ]:
        response = client.call(method, path, {} if method == "PATCH" else None)
        assert (response.status_code, error_code(response)) == (404, "RESOURCE_NOT_FOUND")


def test_a_redelivery_waits_for_the_end_of_the_delivery(
    client: Caller, made: dict[str, Any]
) -> None:
    publish()
    [delivery] = deliveries(client, made)
    path = f"/webhooks/{made['id']}/deliveries/{delivery['id']}/redeliver"
    assert error_code(client.post(path)) == "CONFLICT"
    set_states("failed")
    response = client.post(path)
    assert response.status_code == 202
    started = response.json()["data"]
    assert started["event_id"] == delivery["event_id"]
    assert started["delivery_id"] != delivery["id"]
    other = create(client)
    elsewhere = f"/webhooks/{other['id']}/deliveries/{delivery['id']}/redeliver"
    assert client.post(elsewhere).status_code == 404


def test_recovery_makes_one_delivery_for_each_event_and_none_the_second_time(
    client: Caller, made: dict[str, Any]
) -> None:
    path = f"/webhooks/{made['id']}"
    publish(count=2)
    set_states("failed")
    client.patch(path, {"active": False})
    publish()
    client.patch(path, {"active": True})
    before = iso_utc(utc_now() - timedelta(hours=1))
    assert client.post(path + "/recover", {"until": before}).json()["data"] == {"count": 0}
    assert client.post(path + "/recover", {"status": "canceled"}).json()["data"] == {"count": 1}
    response = client.post(path + "/recover", {"since": before})
    assert (response.status_code, response.json()["data"]) == (202, {"count": 2})
    assert client.post(path + "/recover").json()["data"] == {"count": 0}
    reversed_times = client.post(path + "/recover", {"since": iso_utc(utc_now()), "until": before})
    assert (reversed_times.status_code, findings(reversed_times)) == (422, {"until": "RANGE"})
    found = deliveries(client, made)
    assert len(found) == 6
    assert len({row["event_id"] for row in found}) == 3
    manual = [row for row in found if row["trigger"] == "manual"]
    assert len({each["event_id"] for each in manual}) == 3


def test_a_rotation_shows_the_new_secret_once(client: Caller, made: dict[str, Any]) -> None:
    path = f"/webhooks/{made['id']}/rotate-secret"
    response = client.post(path)
    assert response.status_code == 200
    rotated = response.json()["data"]
    assert set(rotated) == FIELDS | {"signing_secret"}
    assert rotated["signing_secret"] != made["signing_secret"]
    assert findings(client.post(path, {"overlap_seconds": 604801})) == {"overlap_seconds": "RANGE"}
    runtime = running_runtime()
    with runtime.db.reading() as session:
        row = session.scalars(select(Subscription)).one()
        assert row.previous_secret is not None
        assert (
            signing.decrypt(runtime.keyring, row.id, row.previous_secret) == made["signing_secret"]
        )
    client.post(path, {"overlap_seconds": 0})
    with runtime.db.reading() as session:
        assert session.scalars(select(Subscription.previous_secret)).one() is None


def test_lists_answer_when_the_master_key_is_gone(client: Caller, made: dict[str, Any]) -> None:
    with running_runtime().db.writing() as session:
        session.execute(update(Subscription).values(secret="v1.gone.AAAA.AAAA"))
    publish()
    assert client.get("/webhooks").status_code == 200
    assert len(deliveries(client, made)) == 1


def test_the_catalogue_shows_each_type_with_schema_and_example(client: Caller) -> None:
    answer = client.get("/webhooks/event-types").json()
    assert [row["event"] for row in answer["data"]] == [
        event_type.value for event_type in EventType
    ]
    for each in answer["data"]:
        Draft202012Validator(each["schema"]).validate(each["example"])
    assert answer["pagination"]["totalCount"] == len(EventType)


def test_webhooks_need_their_scope(base: str, make_caller: Callable[..., Caller]) -> None:
    reader = make_caller(base, scopes=["usage:read"])
    assert error_code(reader.post("/webhooks", {})) == "INSUFFICIENT_SCOPE"


def test_history_is_purged_when_its_time_is_over(client: Caller, made: dict[str, Any]) -> None:
    publish(count=3)
    set_states("succeeded")
    publish()
    runtime = running_runtime()
    future = utc_now() + timedelta(days=1)
    with runtime.db.writing() as session:
        assert history.purge(session, before=utc_now() - timedelta(days=30)) == 0
        assert history.purge(session, before=future, limit=2) > 0
    while True:
        with runtime.db.writing() as session:
            if history.purge(session, before=future) == 0:
                break
    [left] = deliveries(client, made)
    assert left["status"] == "pending"
    client.delete(f"/webhooks/{made['id']}")
    for _ in range(2):
        with runtime.db.writing() as session:
            history.purge(session, before=utc_now() + timedelta(days=1))
    assert client.get(f"/webhooks/{made['id']}/deliveries").status_code == 404
