"""API keys: shown once, revoked at once, and never able to gain more than they have."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from app.api_keys import service
from app.api_keys.enums import SCOPES
from app.core.clock import iso_utc, utc_now
from app.core.errors import Conflict
from app.core.principal import Principal
from app.core.runtime import Runtime
from tests.caller import Caller, error_code, findings

RECORD = {
    "id",
    "name",
    "description",
    "keyPrefix",
    "scopes",
    "ipAllowlist",
    "executiveIds",
    "callCenterIds",
    "campaignIds",
    "signaturePolicy",
    "requireNonce",
    "status",
    "expiresAt",
    "lastUsedAt",
    "createdAt",
    "updatedAt",
    "rotatedAt",
    "previousCredentialExpiresAt",
}


def caller_of(client: Caller, made: dict[str, str]) -> Caller:
    return Caller(client.base, made["apiKey"], made["secret"], client.session)


def make(client: Caller, **fields: object) -> dict[str, Any]:
    body = {"name": "robot", "scopes": ["engagements:read"], **fields}
    answer = client.post("/api-keys", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def test_a_new_key_shows_its_strings_once_and_works(client: Caller) -> None:
    made = make(client)
    assert set(made) == RECORD | {"apiKey", "secret"}
    assert made["keyPrefix"] == made["apiKey"][:9]
    assert caller_of(client, made).get("/engagements").status_code == 200
    listed = client.get("/api-keys").json()
    assert set(listed) == {"data", "meta", "pagination"}
    for row in listed["data"]:
        assert set(row) == RECORD
    assert made["apiKey"] not in str(listed)
    assert made["secret"] not in str(listed)


def test_scopes_are_returned_in_canonical_order(client: Caller) -> None:
    made = make(client, scopes=["usage:read", "audio:read", "evaluations:read"])
    assert made["scopes"] == ["evaluations:read", "audio:read", "usage:read"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["nothing:read"]}, "scopes[0]"),
        ({"scopes": ["usage:read", "usage:read"]}, "scopes"),
        ({"ipAllowlist": ["10.0.0.1/8"]}, "ipAllowlist[0]"),
        ({"ipAllowlist": ["10.0.0.0/0.255.255.255"]}, "ipAllowlist[0]"),
        ({"ipAllowlist": ["010.0.0.1"]}, "ipAllowlist[0]"),
        ({"ipAllowlist": ["::ffff:10.0.0.1"]}, "ipAllowlist[0]"),
        ({"ipAllowlist": ["10.0.0.0/８"]}, "ipAllowlist[0]"),
        ({"ipAllowlist": ["10.0.0.0/8"] * 51}, "ipAllowlist"),
        ({"signaturePolicy": "none"}, "signaturePolicy"),
        ({"requireNonce": "yes"}, "requireNonce"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
        ({"expiresAt": "2099-01-01T00:00:00"}, "expiresAt"),
        ({"expiresAt": "tomorrow"}, "expiresAt"),
        ({"keyPrefix": "cqek_1234"}, "keyPrefix"),
    ],
)
def test_a_wrong_field_is_named(
    shared_client: Caller, change: dict[str, object], field: str
) -> None:
    answer = shared_client.post("/api-keys", {"name": "robot", "scopes": ["usage:read"], **change})
    assert answer.status_code == 422
    assert set(findings(answer)) == {field}


def test_a_revoked_key_is_refused_at_once(client: Caller) -> None:
    made = make(client)
    robot = caller_of(client, made)
    assert robot.get("/engagements").status_code == 200
    assert client.delete(f"/api-keys/{made['id']}").status_code == 204
    refused = robot.get("/engagements")
    assert refused.status_code == 401
    assert error_code(refused) == "INVALID_API_KEY"
    [kept] = [row for row in client.get("/api-keys").json()["data"] if row["id"] == made["id"]]
    assert kept["status"] == "revoked"
    assert client.delete(f"/api-keys/{made['id']}").status_code == 204
    assert client.patch(f"/api-keys/{made['id']}", {"name": "x"}).status_code == 409


def test_narrowed_scopes_apply_at_once(client: Caller) -> None:
    made = make(client, scopes=["engagements:read", "engagements:write"])
    robot = caller_of(client, made)
    body = {"name": "A", "type": "qa"}
    assert robot.post("/engagements", body).status_code == 201
    change = client.patch(f"/api-keys/{made['id']}", {"scopes": ["engagements:read"]})
    assert change.status_code == 200
    assert "ETag" in change.headers
    assert error_code(robot.post("/engagements", body)) == "INSUFFICIENT_SCOPE"


def test_a_changed_allowlist_applies_at_once(client: Caller) -> None:
    made = make(client)
    robot = caller_of(client, made)
    assert robot.get("/engagements").status_code == 200
    client.patch(f"/api-keys/{made['id']}", {"ipAllowlist": ["10.0.0.0/8"]})
    assert error_code(robot.get("/engagements")) == "IP_NOT_ALLOWED"
    client.patch(f"/api-keys/{made['id']}", {"ipAllowlist": None})
    assert robot.get("/engagements").status_code == 200


def test_a_network_is_kept_once(client: Caller) -> None:
    networks = ["10.0.0.0/8", "2001:db8::/32", "2001:DB8:0::/32", "10.0.0.0/8"]
    made = make(client, ipAllowlist=networks)
    assert made["ipAllowlist"] == networks[:2]
    changed = client.patch(f"/api-keys/{made['id']}", {"ipAllowlist": networks[1:3]})
    assert changed.json()["data"]["ipAllowlist"] == networks[1:2]


def test_a_change_to_the_same_values_changes_nothing(client: Caller) -> None:
    made = make(client, scopes=["usage:read", "audio:read"], ipAllowlist=["10.0.0.0/8"])
    del made["apiKey"], made["secret"]
    same = {
        name: made[name]
        for name in ("name", "description", "scopes", "ipAllowlist", "signaturePolicy")
    }
    first = client.patch(f"/api-keys/{made['id']}", {})
    assert first.json()["data"] == made
    second = client.patch(f"/api-keys/{made['id']}", {**same, "requireNonce": False})
    assert second.json()["data"] == made
    assert second.headers["ETag"] == first.headers["ETag"]
    changed = client.patch(f"/api-keys/{made['id']}", {"name": "B"})
    assert changed.json()["data"]["updatedAt"] > made["updatedAt"]
    assert changed.headers["ETag"] != first.headers["ETag"]


def test_an_expired_key_is_refused(client: Caller) -> None:
    made = make(client, expiresAt=iso_utc(utc_now() + timedelta(minutes=10)))
    robot = caller_of(client, made)
    assert robot.get("/engagements").status_code == 200
    with time_machine.travel(utc_now() + timedelta(minutes=11)):
        assert error_code(robot.get("/engagements")) == "INVALID_API_KEY"
        [shown] = [row for row in client.get("/api-keys").json()["data"] if row["id"] == made["id"]]
    assert shown["status"] == "expired"


def test_rotation_without_grace_ends_the_old_pair(client: Caller) -> None:
    made = make(client)
    old = caller_of(client, made)
    assert old.get("/engagements").status_code == 200
    answer = client.post(f"/api-keys/{made['id']}/rotate")
    assert answer.status_code == 200
    fresh = answer.json()["data"]
    assert fresh["id"] == made["id"]
    assert fresh["apiKey"] != made["apiKey"]
    assert fresh["secret"] != made["secret"]
    assert fresh["rotatedAt"] is not None
    assert error_code(old.get("/engagements")) == "INVALID_API_KEY"
    assert caller_of(client, fresh).get("/engagements").status_code == 200


def test_rotation_with_grace_keeps_one_old_pair(client: Caller) -> None:
    made = make(client)
    path = f"/api-keys/{made['id']}/rotate"
    second = client.post(path, {"gracePeriodSeconds": 600}).json()["data"]
    assert second["previousCredentialExpiresAt"] is not None
    assert caller_of(client, made).get("/engagements").status_code == 200
    third = client.post(path, {"gracePeriodSeconds": 600}).json()["data"]
    assert error_code(caller_of(client, made).get("/engagements")) == "INVALID_API_KEY"
    assert caller_of(client, second).get("/engagements").status_code == 200
    assert caller_of(client, third).get("/engagements").status_code == 200
    with time_machine.travel(utc_now() + timedelta(seconds=601)):
        assert error_code(caller_of(client, second).get("/engagements")) == "INVALID_API_KEY"
        assert caller_of(client, third).get("/engagements").status_code == 200


def test_grace_never_outlives_the_key(client: Caller) -> None:
    ends = iso_utc(utc_now() + timedelta(minutes=1))
    made = make(client, expiresAt=ends)
    rotated = client.post(f"/api-keys/{made['id']}/rotate", {"gracePeriodSeconds": 604800})
    assert rotated.json()["data"]["previousCredentialExpiresAt"] == ends


@pytest.mark.parametrize("grace", [-1, 604801, "60", 1.5])
def test_a_wrong_grace_is_named(client: Caller, grace: object) -> None:
    made = make(client)
    answer = client.post(f"/api-keys/{made['id']}/rotate", {"gracePeriodSeconds": grace})
    assert set(findings(answer)) == {"gracePeriodSeconds"}


def test_a_key_touches_no_key_with_other_scopes(client: Caller) -> None:
    manager = caller_of(client, make(client, scopes=["keys:manage", "usage:read"]))
    strong = make(client, scopes=["webhooks:manage"])
    for answer in (
        manager.post("/api-keys", {"name": "x", "scopes": ["webhooks:manage"]}),
        manager.patch(f"/api-keys/{strong['id']}", {"name": "mine"}),
        manager.post(f"/api-keys/{strong['id']}/rotate"),
        manager.delete(f"/api-keys/{strong['id']}"),
    ):
        assert answer.status_code == 403
        assert error_code(answer) == "INSUFFICIENT_SCOPE"
    assert caller_of(client, strong).get("/engagements").status_code == 403
    weak = make(manager, scopes=["usage:read"])
    widen = manager.patch(f"/api-keys/{weak['id']}", {"scopes": list(SCOPES)})
    assert widen.status_code == 403


def test_a_new_key_stays_within_the_allowlist_and_expiry_of_its_maker(client: Caller) -> None:
    ends = iso_utc(utc_now() + timedelta(hours=1))
    maker = caller_of(
        client,
        make(client, scopes=["keys:manage"], ipAllowlist=["127.0.0.0/8"], expiresAt=ends),
    )
    body = {"name": "x", "scopes": ["keys:manage"]}
    for child in (
        {},
        {"ipAllowlist": ["127.0.0.1"]},
        {"ipAllowlist": ["10.0.0.0/8"], "expiresAt": ends},
        {"ipAllowlist": ["127.0.0.1"], "expiresAt": "2099-01-01T00:00:00Z"},
    ):
        assert maker.post("/api-keys", {**body, **child}).status_code == 403
    good = {**body, "ipAllowlist": ["127.0.0.1"], "expiresAt": ends}
    assert maker.post("/api-keys", good).status_code == 201


LIMITS: list[dict[str, Any]] = [
    {"ipAllowlist": ["127.0.0.0/8"]},
    {"expiresAt": "2099-01-01T00:00:00.000Z"},
    {"signaturePolicy": "required"},
    {"requireNonce": True},
]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: next(iter(limit)))
def test_a_limited_key_touches_no_key_that_may_do_more(
    client: Caller, limit: dict[str, Any]
) -> None:
    confined = caller_of(client, make(client, scopes=["keys:manage", "usage:read"], **limit))
    wider = make(client, scopes=["usage:read"])
    path = f"/api-keys/{wider['id']}"
    for number, (method, where, body) in enumerate(
        [
            ("POST", "/api-keys", {"name": "x", "scopes": ["usage:read"]}),
            ("PATCH", path, {"name": "mine"}),
            ("PATCH", path, limit),
            ("POST", f"{path}/rotate", None),
            ("DELETE", path, None),
        ]
    ):
        answer = confined.call(method, where, body, nonce=f"n{number}")
        assert error_code(answer) == "INSUFFICIENT_SCOPE"
        assert next(iter(limit)) in answer.json()["error"]["message"]
    assert caller_of(client, wider).get("/usage/by-key").status_code == 200


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: next(iter(limit)))
def test_a_limited_key_manages_keys_within_its_limits(
    client: Caller, limit: dict[str, Any]
) -> None:
    confined = caller_of(client, make(client, scopes=["keys:manage", "usage:read"], **limit))
    body = {"name": "x", "scopes": ["usage:read"], **limit}
    made = confined.call("POST", "/api-keys", body, nonce="a").json()["data"]
    path = f"/api-keys/{made['id']}"
    assert confined.call("PATCH", path, {"name": "y"}, nonce="b").status_code == 200
    rotated = confined.call("POST", f"{path}/rotate", nonce="c")
    assert {name: rotated.json()["data"][name] for name in limit} == limit
    assert confined.call("DELETE", path, nonce="d").status_code == 204


def test_the_last_key_with_keys_manage_cannot_be_revoked(client: Caller) -> None:
    key_id = client.key_id
    assert client.delete(f"/api-keys/{key_id}").status_code == 409
    narrowed = client.patch(f"/api-keys/{key_id}", {"scopes": ["usage:read"]})
    assert narrowed.status_code == 409
    assert client.get("/api-keys").status_code == 200


def test_two_managers_cannot_revoke_each_other_at_the_same_moment(
    client: Caller, runtime: Runtime
) -> None:
    first: str = client.key_id
    second = make(client, scopes=list(SCOPES))["id"]
    manager = Principal(second, "manager", frozenset(SCOPES), (), None, "optional", False)

    def revoke_second() -> None:
        with runtime.db.writing() as session:
            service.revoke_key(session, second, caller=manager)

    with ThreadPoolExecutor(1) as pool:
        with runtime.db.writing() as session:
            service.revoke_key(session, first, caller=manager)
            revoked = pool.submit(revoke_second)
            threading.Event().wait(0.2)
        with pytest.raises(Conflict):
            revoked.result(10)


def test_calls_and_last_use_are_counted(
    client: Caller, base: str, make_caller: Callable[..., Caller], runtime: Runtime
) -> None:
    robot = make_caller(base, name="robot", scopes=["engagements:read"])
    for _ in range(7):
        robot.get("/engagements")
    robot.get("/nothing")
    robot.post("/engagements", {})
    robot.get("/engagements", headers={"X-Signature": "ab" * 32})
    usage = client.get("/usage/by-key").json()
    assert set(usage) == {"billingPeriod", "keys"}
    entry = next(key for key in usage["keys"] if key["name"] == "robot")
    assert set(entry) == {"keyId", "name", "calls", "lastUsedAt"}
    assert entry["calls"] == 9
    assert entry["lastUsedAt"] is not None
    assert client.get("/usage/by-key?billingPeriod=2020-01").json()["keys"][0]["calls"] == 0


def test_no_secret_is_stored_in_plain_text(client: Caller, runtime: Runtime) -> None:
    made = [make(client) for _ in range(3)]
    made.append(client.post(f"/api-keys/{made[0]['id']}/rotate").json()["data"])
    kept = b"".join(
        file.read_bytes() for file in runtime.settings.data_dir.rglob("*") if file.is_file()
    )
    for row in made:
        assert row["secret"].encode() not in kept
        assert row["apiKey"].encode() not in kept
