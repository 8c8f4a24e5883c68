"""Upserts with PUT: one record for each externalId, created once and then replaced."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from app.campaigns.models import Campaign
from app.core.runtime import Runtime
from app.directory.models import CallCenter, Executive
from app.directory.service import CALL_CENTERS, EXECUTIVES
from tests.caller import Caller, error_code, findings

pytestmark = pytest.mark.sql

KINDS = ("campaigns", "call-centers", "executives")
SHOWN = {
    "campaigns": {
        *("id", "externalId", "name", "description", "type", "channels", "status"),
        *("engagementId", "callCenterIds", "scorecardId", "language", "startsAt", "endsAt"),
        "scorecardIds",
        *("targets", "counts", "meanScore", "labels", "createdAt", "updatedAt"),
    },
    "call-centers": {"id", "externalId", "name", "labels", "createdAt", "updatedAt"},
    "executives": {
        *("id", "externalId", "name", "kind", "callCenterId", "email", "labels"),
        *("createdAt", "updatedAt"),
    },
}
NO_ID = "01m7y8acjwfq8bmhevp404058a"


def put(client: Caller, room: str, external_id: str, **fields: Any) -> dict[str, Any]:
    answer = client.call("PUT", f"/imports/{room}/{external_id}", {"name": "N", **fields})
    assert answer.status_code in (200, 201), answer.text
    return dict(answer.json()["data"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_put_creates_and_the_second_changes_nothing(client: Caller, kind: str) -> None:
    body = {"name": "North", "labels": {"region": "n"}}
    first = client.call("PUT", f"/imports/{kind}/crm-1", body)
    assert first.status_code == 201
    record = first.json()["data"]
    assert set(first.json()) == {"data", "meta"}
    assert set(record) == SHOWN[kind]
    assert record["externalId"] == "crm-1"
    assert record["labels"] == {"region": "n"}
    assert record["createdAt"] == record["updatedAt"]
    second = client.call("PUT", f"/imports/{kind}/crm-1", {**body, "externalId": "crm-1"})
    assert second.status_code == 200
    assert second.json()["data"] == record


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_put_keeps_the_id_and_updates_the_time(client: Caller, kind: str) -> None:
    before = put(client, kind, "k", name="Before")
    time.sleep(0.002)
    after = put(client, kind, "k", name="After")
    assert after["id"] == before["id"]
    assert after["name"] == "After"
    assert after["createdAt"] == before["createdAt"]
    assert after["updatedAt"] > before["updatedAt"]


def test_missing_fields_take_their_defaults(client: Caller) -> None:
    plain = put(client, "campaigns", "plain")
    full = put(
        client,
        "campaigns",
        "full",
        description="Two\nlines",
        type="sales",
        channels=["voice", "chat"],
        status="draft",
        language="hi-IN",
        startsAt="2026-01-01T00:00:00+05:30",
        endsAt="2026-02-01T00:00:00Z",
        targets={"score": 85, "passRate": 0.9},
        labels={"a": "b"},
    )
    assert full["startsAt"] == "2025-12-31T18:30:00.000Z"
    assert full["targets"] == {"score": 85, "evaluations": None, "passRate": 0.9}
    assert full["channels"] == ["voice", "chat"]
    back = put(client, "campaigns", "full")
    own = ("id", "externalId", "createdAt", "updatedAt")
    assert {k: v for k, v in back.items() if k not in own} == {
        k: v for k, v in plain.items() if k not in own
    }
    assert (plain["status"], plain["type"]) == ("active", "other")
    assert plain["counts"] == {
        "conversations": 0,
        "voiceCalls": 0,
        "audioFiles": 0,
        "evaluations": 0,
    }
    assert plain["meanScore"] is None
    assert plain["targets"] == {"score": None, "evaluations": None, "passRate": None}


def test_references_must_exist(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    call_center = put(client, "call-centers", "pune")["id"]
    campaign = put(client, "campaigns", "c", engagementId=engagement, callCenterIds=[call_center])
    assert campaign["engagementId"] == engagement
    assert campaign["callCenterIds"] == [call_center]
    executive = put(
        client, "executives", "x", callCenterId=call_center, kind="bot", email="a@example.org"
    )
    assert executive["callCenterId"] == call_center
    assert (executive["kind"], executive["email"]) == ("bot", "a@example.org")


def test_references_are_given_by_name_too(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    call_center = put(client, "call-centers", "pune", name="Pune")["id"]
    campaign = put(client, "campaigns", "c", engagement="E")
    executive = put(client, "executives", "x", callCenter="Pune")
    assert (campaign["engagementId"], executive["callCenterId"]) == (engagement, call_center)
    assert put(client, "campaigns", "c", engagement=None)["engagementId"] is None
    unknown = client.call("PUT", "/imports/executives/x", {"name": "N", "callCenter": "Goa"})
    assert findings(unknown) == {"callCenter": "FORMAT"}
    both = {"name": "N", "callCenter": "Pune", "callCenterId": call_center}
    assert findings(client.call("PUT", "/imports/executives/x", both)) == {"callCenter": "FORMAT"}


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("campaigns", {}, {"name": "REQUIRED"}),
        ("call-centers", {}, {"name": "REQUIRED"}),
        ("executives", {}, {"name": "REQUIRED"}),
        ("campaigns", {"name": " "}, {"name": "LENGTH"}),
        ("campaigns", {"name": "A", "id": "camp_1"}, {"id": "UNKNOWN"}),
        ("campaigns", {"name": "A", "counts": {}}, {"counts": "UNKNOWN"}),
        ("campaigns", {"name": "A", "meanScore": 3}, {"meanScore": "UNKNOWN"}),
        ("campaigns", {"name": "A", "type": "party"}, {"type": "ENUM"}),
        ("campaigns", {"name": "A", "status": None}, {"status": "TYPE"}),
        ("campaigns", {"name": "A", "channels": ["fax"]}, {"channels[0]": "ENUM"}),
        ("campaigns", {"name": "A", "channels": ["chat"] * 2}, {"channels": "FORMAT"}),
        ("campaigns", {"name": "A", "channels": "chat"}, {"channels": "TYPE"}),
        ("campaigns", {"name": "A", "language": "english!"}, {"language": "FORMAT"}),
        ("campaigns", {"name": "A", "startsAt": "2026-01-01T00:00:00"}, {"startsAt": "FORMAT"}),
        (
            "campaigns",
            {"name": "A", "startsAt": "2026-01-02T00:00:00Z", "endsAt": "2026-01-01T00:00:00Z"},
            {"endsAt": "RANGE"},
        ),
        ("campaigns", {"name": "A", "targets": {"score": 101}}, {"targets.score": "RANGE"}),
        ("campaigns", {"name": "A", "targets": {"passRate": 1.1}}, {"targets.passRate": "RANGE"}),
        ("campaigns", {"name": "A", "targets": {"goal": 1}}, {"targets.goal": "UNKNOWN"}),
        ("campaigns", {"name": "A", "targets": 5}, {"targets": "TYPE"}),
        ("campaigns", {"name": "A", "labels": {"a": 1}}, {"labels.a.value": "TYPE"}),
        (
            "campaigns",
            {"name": "A", "labels": {str(n): "" for n in range(21)}},
            {"labels": "LENGTH"},
        ),
        ("campaigns", {"name": "A", "engagementId": "eng_1"}, {"engagementId": "FORMAT"}),
        ("campaigns", {"name": "A", "engagementId": f"eng_{NO_ID}"}, {"engagementId": "FORMAT"}),
        ("campaigns", {"name": "A", "scorecardId": f"sc_{NO_ID}"}, {"scorecardId": "FORMAT"}),
        (
            "campaigns",
            {"name": "A", "callCenterIds": [f"cc_{NO_ID}"]},
            {"callCenterIds[0]": "FORMAT"},
        ),
        (
            "campaigns",
            {"name": "A", "callCenterIds": [f"cc_{NO_ID}"] * 2},
            {"callCenterIds": "FORMAT"},
        ),
        ("call-centers", {"name": "A", "kind": "human"}, {"kind": "UNKNOWN"}),
        ("executives", {"name": "A", "kind": "alien"}, {"kind": "ENUM"}),
        ("executives", {"name": "A", "email": "nobody"}, {"email": "FORMAT"}),
        ("executives", {"name": "A", "callCenterId": f"cc_{NO_ID}"}, {"callCenterId": "FORMAT"}),
        ("executives", {"name": "A", "externalId": "other"}, {"externalId": "FORMAT"}),
        ("executives", {"name": "A", "externalId": 7}, {"externalId": "TYPE"}),
        ("executives", {"name": "A", "externalId": None}, {"externalId": "TYPE"}),
    ],
)
def test_an_invalid_body_is_reported_by_field(
    shared_client: Caller, kind: str, body: dict[str, Any], expected: dict[str, str]
) -> None:
    answer = shared_client.call("PUT", f"/imports/{kind}/k", body)
    assert answer.status_code == 422
    assert findings(answer) == expected
    assert {detail["location"] for detail in answer.json()["error"]["details"]} == {"json"}


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_other_methods_are_not_allowed(shared_client: Caller, method: str) -> None:
    answer = shared_client.call(method, "/imports/campaigns/a")
    assert answer.status_code == 405
    assert "PUT" in answer.headers["Allow"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_scope_is_checked_before_the_body(
    base: str, make_caller: Callable[..., Caller], kind: str
) -> None:
    reader = make_caller(base, scopes=["campaigns:read"])
    for path in (f"/imports/{kind}/k", f"/imports/{kind}/%00"):
        refused = reader.call("PUT", path, {"nonsense": 1})
        assert refused.status_code == 403
        assert error_code(refused) == "INSUFFICIENT_SCOPE"
    writer = make_caller(base, scopes=["ingest:write"])
    assert writer.call("PUT", f"/imports/{kind}/k", {"name": "A"}).status_code == 201


def test_both_base_paths_reach_the_same_record(client: Caller) -> None:
    made = put(client, "campaigns", "k")
    again = client.call("PUT", "/v1/imports/campaigns/k", {"name": "N"})
    assert again.status_code == 200
    assert again.json()["data"] == made


@pytest.mark.parametrize(
    ("kind", "table"),
    [("campaigns", Campaign), ("call-centers", CallCenter), ("executives", Executive)],
)
def test_eight_concurrent_puts_create_one_record(
    base: str, runtime: Runtime, make_caller: Callable[..., Caller], kind: str, table: Any
) -> None:
    callers = [make_caller(base) for _ in range(8)]

    def send(caller: Caller) -> tuple[int, str]:
        answer = caller.call("PUT", f"/imports/{kind}/same", {"name": "A", "labels": {"a": "b"}})
        return answer.status_code, str(answer.json()["data"])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, callers))
    assert Counter(status for status, _ in answers) == {201: 1, 200: 7}
    assert len({record for _, record in answers}) == 1
    with runtime.db.reading() as session:
        assert session.scalar(select(func.count()).select_from(table)) == 1


def test_the_directory_is_looked_up_by_id_and_name(client: Caller, runtime: Runtime) -> None:
    center = put(client, "call-centers", "a", name="Pune")["id"]
    person = put(client, "executives", "a", name="Asha")["id"]
    with runtime.db.reading() as session:
        executive = EXECUTIVES.find_by_name(session, "Asha")
        assert executive is not None
        assert executive.id == person
        assert CALL_CENTERS.find_by_name(session, "Nowhere") is None
        assert EXECUTIVES.names(session, [person, f"exec_{NO_ID}"]) == {person: "Asha"}
        assert CALL_CENTERS.names(session, [center]) == {center: "Pune"}
        assert CALL_CENTERS.get(session, center).name == "Pune"
        EXECUTIVES.require(session, person)


def test_the_openapi_document_lists_both_statuses(client: Caller) -> None:
    document = client.plain("GET", "/openapi.json").json()
    path = document["paths"]["/api/v1/imports/campaigns/{external_id}"]
    assert {"200", "201"} <= set(path["put"]["responses"])
    assert "extension" in path["put"]["tags"]
    [parameter] = path.get("parameters") or path["put"]["parameters"]
    assert parameter["schema"]["maxLength"] == 200
