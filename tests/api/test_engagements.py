"""Engagements: fields, paging in shape B, partial change, ETags."""

import time

import pytest

from tests.caller import Caller, error_code, findings

pytestmark = pytest.mark.sql


def make(client: Caller, **fields: object) -> dict[str, object]:
    answer = client.post("/engagements", {"name": "Audit", "type": "qa", **fields})
    assert answer.status_code == 201
    return dict(answer.json()["data"])


def test_a_new_engagement_is_active_and_has_no_evaluations(client: Caller) -> None:
    made = make(client, description="Two\nlines")
    assert str(made["id"]).startswith("eng_")
    assert made["status"] == "active"
    assert made["evaluationCount"] == 0
    assert made["description"] == "Two\nlines"
    assert made["createdAt"] == made["updatedAt"]
    assert str(made["createdAt"]).endswith("Z")


def test_one_engagement_has_shape_a_and_the_list_shape_b(client: Caller) -> None:
    made = make(client)
    one = client.get(f"/engagements/{made['id']}").json()
    assert set(one) == {"data", "meta"}
    assert one["meta"]["requestId"].startswith("req_")
    many = client.get("/engagements").json()
    assert set(many) == {"data", "page", "pageSize", "totalCount"}
    assert many["data"] == [made]


def test_pages_are_newest_first_and_the_last_is_empty(client: Caller) -> None:
    ids = [make(client, name=f"E{number}")["id"] for number in range(5)]
    pages = [
        client.get("/engagements", params={"page": page, "pageSize": 2}).json()
        for page in (1, 2, 3, 4)
    ]
    found = [row["id"] for page in pages for row in page["data"]]
    assert found == ids[::-1]
    assert [len(page["data"]) for page in pages] == [2, 2, 1, 0]
    assert {page["totalCount"] for page in pages} == {5}


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("page=0", "page", "RANGE"),
        ("pageSize=101", "pageSize", "RANGE"),
        ("page=100000&pageSize=100", "page", "RANGE"),
        ("page=1e3", "page", "TYPE"),
        ("page=%D9%A1", "page", "TYPE"),
        ("page=1_0", "page", "TYPE"),
        ("page=99999999999999999999", "page", "TYPE"),
        ("pag=1", "pag", "UNKNOWN"),
        ("page=1&page=2", "page", "FORMAT"),
        ("sort=secret", "sort", "ENUM"),
    ],
)
def test_an_invalid_query_is_refused(
    shared_client: Caller, query: str, field: str, code: str
) -> None:
    answer = shared_client.get(f"/engagements?{query}")
    assert answer.status_code == 422
    assert findings(answer) == {field: code}
    assert answer.json()["error"]["details"][0]["location"] == "query"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/engagements?pag=1", "There is no such field. Did you mean page?"),
        ("/engagements?page_size=5", "There is no such field. Did you mean pageSize?"),
        ("/engagements?xylophone=1", "There is no such field."),
        ("/evaluations?sort=createdat", " Did you mean createdAt?"),
        ("/evaluations?status=complete", " Did you mean completed?"),
        ("/evaluations?reviewStatus=dispute", " Did you mean disputed?"),
    ],
)
def test_an_unknown_name_gets_the_nearest(shared_client: Caller, path: str, message: str) -> None:
    [detail] = shared_client.get(path).json()["error"]["details"]
    assert detail["message"].endswith(message)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"name": "REQUIRED", "type": "REQUIRED"}),
        ({"name": "", "type": "qa"}, {"name": "LENGTH"}),
        ({"name": "   ", "type": "qa"}, {"name": "LENGTH"}),
        ({"name": "x" * 201, "type": "qa"}, {"name": "LENGTH"}),
        ({"name": 5, "type": "qa"}, {"name": "TYPE"}),
        ({"name": None, "type": "qa"}, {"name": "TYPE"}),
        ({"name": "a\u202eb", "type": "qa"}, {"name": "FORMAT"}),
        ({"name": "a\x07b", "type": "qa"}, {"name": "FORMAT"}),
        ({"name": "A", "type": "Not A Label"}, {"type": "FORMAT"}),
        ({"name": "A", "type": "qa\n"}, {"type": "FORMAT"}),
        ({"name": "A", "type": "qa", "id": "eng_1"}, {"id": "UNKNOWN"}),
        ({"name": "A", "type": "qa", "evaluationCount": 9}, {"evaluationCount": "UNKNOWN"}),
        ({"name": "A", "type": "qa", "status": "active"}, {"status": "UNKNOWN"}),
        ({"name": "A", "type": "qa", "description": ["x"]}, {"description": "TYPE"}),
    ],
)
def test_an_invalid_body_is_reported_by_field(
    shared_client: Caller, body: dict[str, object], expected: dict[str, str]
) -> None:
    answer = shared_client.post("/engagements", body)
    assert answer.status_code == 422
    assert findings(answer) == expected


def test_a_patch_changes_only_the_given_fields(client: Caller) -> None:
    made = make(client, description="old")
    time.sleep(0.002)
    answer = client.patch(f"/engagements/{made['id']}", {"status": "completed"})
    changed = answer.json()["data"]
    assert changed["status"] == "completed"
    assert changed["description"] == "old"
    assert changed["updatedAt"] > made["updatedAt"]
    assert client.get(f"/engagements/{made['id']}").json()["data"] == changed


def test_an_empty_patch_changes_only_the_time(client: Caller) -> None:
    made = make(client)
    time.sleep(0.002)
    changed = client.patch(f"/engagements/{made['id']}", {}).json()["data"]
    assert changed.pop("updatedAt") > made.pop("updatedAt")
    assert changed == made


@pytest.mark.parametrize("status", ["archived", "Active", "", 1, None])
def test_unknown_statuses_are_refused(client: Caller, status: object) -> None:
    made = make(client)
    answer = client.patch(f"/engagements/{made['id']}", {"status": status})
    assert set(findings(answer)) == {"status"}


@pytest.mark.parametrize(
    "missing",
    ["eng_01m7y8acjwfq8bmhevp404058a", "key_01m7y8acjwfq8bmhevp404058a", "x", "%00", "a%2Fb"],
)
def test_a_missing_engagement_is_404(shared_client: Caller, missing: str) -> None:
    for answer in (
        shared_client.get(f"/engagements/{missing}"),
        shared_client.patch(f"/engagements/{missing}", {"name": "B"}),
    ):
        assert answer.status_code == 404
        assert error_code(answer) == "RESOURCE_NOT_FOUND"


def test_a_stale_etag_refuses_a_patch(client: Caller) -> None:
    answer = client.post("/engagements", {"name": "A", "type": "qa"})
    path, first = f"/engagements/{answer.json()['data']['id']}", answer.headers["ETag"]
    changed = client.patch(path, {"name": "B"}, headers={"If-Match": first})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != first
    stale = client.patch(path, {"name": "C"}, headers={"If-Match": first})
    assert stale.status_code == 412
    assert error_code(stale) == "PRECONDITION_FAILED"
    assert client.get(path).json()["data"]["name"] == "B"
    assert client.patch(path, {"name": "D"}, headers={"If-Match": "*"}).status_code == 200


def test_a_current_etag_is_answered_with_304(client: Caller) -> None:
    made = client.post("/engagements", {"name": "A", "type": "qa"})
    path = f"/engagements/{made.json()['data']['id']}"
    tag = client.get(path).headers["ETag"]
    again = client.get(path, headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.content == b""


def test_a_setting_can_limit_the_types(serve: object, make_caller: object) -> None:
    caller = make_caller(serve(engagement_types=("qa", "sales")))  # type: ignore[operator]
    assert caller.post("/engagements", {"name": "A", "type": "sales"}).status_code == 201
    answer = caller.post("/engagements", {"name": "A", "type": "other"})
    assert findings(answer) == {"type": "ENUM"}


def test_planned_features_have_no_routes(client: Caller) -> None:
    made = make(client)
    for method, path in (
        ("POST", f"/engagements/{made['id']}/archive"),
        ("POST", "/engagements/bulk"),
        ("GET", "/engagement-templates"),
    ):
        assert client.call(method, path).status_code == 404
    assert client.delete(f"/engagements/{made['id']}").status_code == 405
