"""Campaigns: the record, the list with its filters and sorts, and the counts."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.campaigns import service
from app.campaigns.enums import CampaignCount
from app.campaigns.service import CAMPAIGNS
from app.core.errors import InvalidInput
from app.core.runtime import Runtime
from tests.caller import Caller, error_code, findings
from tests.conversations import HELPFUL, chat, completed

pytestmark = pytest.mark.sql


def make(client: Caller, external_id: str, **fields: Any) -> dict[str, Any]:
    answer = client.call("PUT", f"/imports/campaigns/{external_id}", {"name": "N", **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def keys(client: Caller, **params: Any) -> list[str]:
    answer = client.get("/campaigns", params=params)
    assert answer.status_code == 200, answer.text
    return [row["externalId"] for row in answer.json()["data"]]


def test_the_list_and_the_single_campaign_show_the_same_record(client: Caller) -> None:
    made = make(client, "a", targets={"evaluations": 50}, channels=["voice_bot"])
    assert str(made["id"]).startswith("camp_")
    one = client.get(f"/campaigns/{made['id']}").json()
    assert set(one) == {"data", "meta"}
    assert one["data"] == made
    many = client.get("/campaigns").json()
    assert set(many) == {"data", "meta", "pagination"}
    assert many["data"] == [made]
    assert many["pagination"] == {"page": 1, "pageSize": 25, "totalCount": 1, "totalPages": 1}


@pytest.mark.parametrize(
    "missing", ["camp_01m7y8acjwfq8bmhevp404058a", "eng_01m7y8acjwfq8bmhevp404058a", "x", "%00"]
)
def test_a_missing_campaign_is_404(shared_client: Caller, missing: str) -> None:
    answer = shared_client.get(f"/campaigns/{missing}")
    assert answer.status_code == 404
    assert error_code(answer) == "RESOURCE_NOT_FOUND"


def test_reading_requires_its_scope(base: str, make_caller: Callable[..., Caller]) -> None:
    writer = make_caller(base, scopes=["ingest:write"])
    made = make(writer, "a")
    for path in ("/campaigns?nonsense=1", f"/campaigns/{made['id']}"):
        refused = writer.get(path)
        assert refused.status_code == 403
        assert error_code(refused) == "INSUFFICIENT_SCOPE"
    reader = make_caller(base, scopes=["campaigns:read"])
    assert keys(reader) == ["a"]
    assert reader.get(f"/campaigns/{made['id']}").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_campaigns_cannot_be_written_here(shared_client: Caller, method: str) -> None:
    answer = shared_client.call(method, "/campaigns", {"name": "A"})
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]


def test_pages_are_newest_first_and_the_last_is_empty(client: Caller) -> None:
    made = [make(client, f"c{number}")["externalId"] for number in range(5)]
    pages = [keys(client, page=page, pageSize=2) for page in (1, 2, 3, 4)]
    assert [row for page in pages for row in page] == made[::-1]
    assert [len(page) for page in pages] == [2, 2, 1, 0]


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("status=archived", "status", "ENUM"),
        ("status=active,", "status", "ENUM"),
        ("status=", "status", "ENUM"),
        ("type=Sales", "type", "ENUM"),
        ("engagementId=eng_1", "engagementId", "FORMAT"),
        ("engagementId=camp_01m7y8acjwfq8bmhevp404058a", "engagementId", "FORMAT"),
        ("q=", "q", "LENGTH"),
        ("from=yesterday", "from", "FORMAT"),
        ("from=2026-01-02&to=2026-01-02", "to", "RANGE"),
        ("sort=endsAt", "sort", "ENUM"),
        ("sort=mean_score", "sort", "ENUM"),
        ("callCenterId=x", "callCenterId", "UNKNOWN"),
        ("status=active&status=draft", "status", "FORMAT"),
        ("pageSize=101", "pageSize", "RANGE"),
    ],
)
def test_an_invalid_query_is_refused(
    shared_client: Caller, query: str, field: str, code: str
) -> None:
    answer = shared_client.get(f"/campaigns?{query}")
    assert answer.status_code == 422
    assert findings(answer) == {field: code}
    assert answer.json()["error"]["details"][0]["location"] == "query"


def test_every_filter_selects_its_campaigns(client: Caller) -> None:
    engagement = client.post("/engagements", {"name": "E", "type": "qa"}).json()["data"]["id"]
    make(client, "draft", status="draft", type="sales", name="Diwali 50% off")
    make(client, "paused", status="paused", type="survey", name="ÉTÉ")
    make(client, "active", type="sales", engagementId=engagement, name="Plain_one")
    assert keys(client, status="draft") == ["draft"]
    assert keys(client, status="paused,draft") == ["paused", "draft"]
    assert keys(client, type="sales") == ["active", "draft"]
    assert keys(client, type="sales", status="active") == ["active"]
    assert keys(client, engagementId=engagement) == ["active"]
    assert keys(client, engagementId="eng_01m7y8acjwfq8bmhevp404058a") == []
    assert keys(client, q="diwali") == ["draft"]
    assert keys(client, q="été") == ["paused"]
    assert keys(client, q="PAUSED") == ["paused"]
    assert keys(client, q="50%") == ["draft"]
    assert keys(client, q="0%of") == []
    assert keys(client, q="n_o") == ["active"]
    assert keys(client, q="%") == ["draft"]


def test_from_is_inclusive_and_to_exclusive(client: Caller) -> None:
    first = make(client, "first")
    time.sleep(0.003)
    second = make(client, "second")
    assert keys(client, **{"from": second["createdAt"]}) == ["second"]
    assert keys(client, to=second["createdAt"]) == ["first"]
    assert keys(client, **{"from": first["createdAt"], "to": second["createdAt"]}) == ["first"]
    assert keys(client, to="2020-01-01") == []


def test_every_sort_works_both_ways_with_nulls_last(client: Caller, runtime: Runtime) -> None:
    b = make(client, "b", name="B", startsAt="2026-02-01T00:00:00Z")
    a = make(client, "a", name="A")
    c = make(client, "c", name="C", startsAt="2026-01-01T00:00:00Z")
    with runtime.db.writing() as session:
        service.note_score(session, a["id"], 70, 1)
        service.note_score(session, c["id"], 90, 1)
    assert b["meanScore"] is None
    expected = {
        "name": ["a", "b", "c"],
        "-name": ["c", "b", "a"],
        "createdAt": ["b", "a", "c"],
        "-createdAt": ["c", "a", "b"],
        "startsAt": ["c", "b", "a"],
        "-startsAt": ["b", "c", "a"],
        "meanScore": ["a", "c", "b"],
        "-meanScore": ["c", "a", "b"],
    }
    assert {sort: keys(client, sort=sort) for sort in expected} == expected


def test_upserts_keep_counts_and_scores(client: Caller, runtime: Runtime) -> None:
    made = make(client, "a")
    campaign_id = made["id"]

    def work(_: int) -> None:
        with runtime.db.writing() as session:
            service.count(session, campaign_id, CampaignCount.CONVERSATIONS)
            service.count(session, campaign_id, CampaignCount.EVALUATIONS)
            service.note_score(session, campaign_id, 81, 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(12)))
    with runtime.db.writing() as session:
        service.count(session, campaign_id, CampaignCount.VOICE_CALLS)
        service.count(session, campaign_id, CampaignCount.AUDIO_FILES, by=2)
        service.count(session, campaign_id, CampaignCount.AUDIO_FILES, by=-1)
        service.note_score(session, campaign_id, 13, 0)
    shown = client.get(f"/campaigns/{campaign_id}").json()["data"]
    assert shown["counts"] == {
        "conversations": 12,
        "voiceCalls": 1,
        "audioFiles": 1,
        "evaluations": 12,
    }
    assert shown["meanScore"] == 82.08
    assert shown["updatedAt"] == made["updatedAt"]
    replaced = client.call("PUT", "/imports/campaigns/a", {"name": "Other"}).json()["data"]
    assert replaced["counts"] == shown["counts"]
    assert replaced["meanScore"] == shown["meanScore"]


def test_the_mean_score_is_null_without_scores(client: Caller, runtime: Runtime) -> None:
    campaign_id = make(client, "a")["id"]
    with runtime.db.writing() as session:
        service.note_score(session, campaign_id, 60, 1)
        service.note_score(session, campaign_id, -60, -1)
    assert client.get(f"/campaigns/{campaign_id}").json()["data"]["meanScore"] is None


def test_the_mean_score_is_that_of_evaluations_with_a_verdict(
    client: Caller, runtime: Runtime
) -> None:
    campaign_id = make(client, "a")["id"]
    with runtime.db.writing() as session:
        short = completed(session, transcript=chat(HELPFUL, language="it"), campaign_id=campaign_id)
        whole = completed(session, campaign_id=campaign_id)
    assert (short.passed, whole.passed) == (None, True)
    shown = client.get(f"/campaigns/{campaign_id}").json()["data"]
    assert (shown["meanScore"], shown["counts"]["evaluations"]) == (whole.score, 2)


def test_campaigns_are_looked_up_by_id_and_name(client: Caller, runtime: Runtime) -> None:
    campaign_id = make(client, "a", name="Winback")["id"]
    with runtime.db.reading() as session:
        CAMPAIGNS.require(session, campaign_id)
        CAMPAIGNS.require(session, None)
        with pytest.raises(InvalidInput) as refused:
            CAMPAIGNS.require(session, "camp_01m7y8acjwfq8bmhevp404058a")
        assert refused.value.details[0]["field"] == "campaignId"
        assert service.name_of(session, campaign_id) == "Winback"
        assert service.name_of(session, None) is None
        campaign = CAMPAIGNS.find_by_name(session, "Winback")
        assert campaign is not None
        assert campaign.id == campaign_id
        assert CAMPAIGNS.find_by_name(session, "winback") is None
