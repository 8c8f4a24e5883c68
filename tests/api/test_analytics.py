"""Analytics over HTTP: what the views tell, their parameters, and what keeps the facts in step."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from app.analytics.cli import analytics
from app.analytics.engine import rebuilding
from app.analytics.schemas.reports import (
    AnalyticsExecutiveSchema,
    AnalyticsMemberSchema,
    AnalyticsSummarySchema,
    AnalyticsTrendSchema,
)
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.directory import service as directory
from app.evaluations import service as evaluations
from tests.caller import Caller, error_code, findings
from tests.conversations import completed, opened
from tests.evaluation_rows import rows_of
from tests.running import CommandRunner

pytestmark = pytest.mark.sql

VIEWS = ("summary", "campaigns", "call-centers", "executives", "trends")


def data_of(client: Caller, view: str, **params: Any) -> Any:
    answer = client.get(f"/analytics/{view}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def checked() -> str:
    """Output of `analytics check`."""
    result = CommandRunner().invoke(analytics, ["check"])
    return result.output


def test_a_summary_of_nothing_has_zeros_and_nulls(client: Caller) -> None:
    data = data_of(client, "summary")
    assert AnalyticsSummarySchema().validate(data) == {}
    assert data["totals"]["evaluations"] == 0
    assert data["score"]["mean"] is None
    assert data["score"]["distribution"][9] == {"from": 90, "to": 100, "count": 0}
    assert data["byChannel"] == data["topTopics"] == data["weakestCriteria"] == []
    assert data["change"] is None


def test_the_period_is_the_last_thirty_days(client: Caller) -> None:
    period = data_of(client, "summary")["period"]
    assert period["timezone"] == "UTC"
    start, end = (datetime.fromisoformat(period[name]) for name in ("from", "to"))
    assert end - start == timedelta(days=30)
    assert timedelta() <= utc_now() - end < timedelta(minutes=1)


def test_a_completed_evaluation_counts_at_once(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
        opened(session)
    data = data_of(client, "summary", minEvaluations=1)
    assert AnalyticsSummarySchema().validate(data) == {}
    assert data["totals"] == {
        "conversations": 2,
        "voiceCalls": 0,
        "audioFiles": 0,
        "evaluations": 2,
        "completed": 1,
        "withoutVerdict": 0,
        "failed": 0,
        "pending": 1,
    }
    assert data["coverage"] == 0.5
    assert data["score"]["median"] == evaluation.score
    assert len(data["weakestCriteria"]) == 5
    assert data["byChannel"][0]["channel"] == "chat"


def test_only_the_current_revision_counts(client: Caller, runtime: Runtime) -> None:
    source_id = new_id("conv")
    with runtime.db.writing() as session:
        completed(session, source_id=source_id)
        second = completed(session, source_id=source_id)
        opened(session, source_id=source_id)
    data = data_of(client, "summary")
    assert data["totals"]["completed"] == data["totals"]["evaluations"] == 1
    assert data["score"]["mean"] == second.score


def test_a_failed_evaluation_has_no_figures(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = opened(session)
        evaluations.fail(session, evaluation.id, code="INTERNAL", message="It failed.")
    data = data_of(client, "summary")
    assert data["totals"]["failed"] == 1
    assert data["score"]["mean"] is None


def test_an_evaluation_without_a_verdict_is_counted_and_not_ranked(
    client: Caller, runtime: Runtime
) -> None:
    executives, campaign = [new_id("exec"), new_id("exec")], new_id("camp")
    common = {"campaign_id": campaign, "engagement_id": None, "channel": "chat"}
    moments = {"created_at": utc_now(), "completed_at": utc_now()}
    ids = rows_of(
        runtime,
        {**common, **moments, "score": 60, "passed": False, "executive_id": executives[0]},
        {**common, **moments, "score": 100, "passed": True, "executive_id": executives[0]},
        {**common, **moments, "score": 4, "passed": None, "executive_id": executives[0]},
        {**common, **moments, "score": 99, "passed": None, "executive_id": executives[1]},
    )
    with runtime.db.writing() as session:
        rebuilding.rebuild_after(session, "")

    summary = data_of(client, "summary")
    assert (summary["totals"]["completed"], summary["totals"]["withoutVerdict"]) == (4, 2)
    assert summary["coverage"] == 1
    assert (summary["score"]["mean"], summary["score"]["passRate"]) == (80, 0.5)
    assert sum(bucket["count"] for bucket in summary["score"]["distribution"]) == 2
    ranked, unranked = data_of(client, "executives", minEvaluations=2)
    assert (ranked["id"], unranked["id"]) == tuple(executives)
    assert (ranked["evaluations"], ranked["withoutVerdict"], ranked["rank"]) == (3, 1, 1)
    assert (ranked["meanScore"], ranked["adjustedScore"], ranked["passRate"]) == (80, 80, 0.5)
    assert (unranked["evaluations"], unranked["withoutVerdict"]) == (1, 1)
    assert (unranked["rank"], unranked["meanScore"], unranked["adjustedScore"]) == (None,) * 3
    assert not data_of(client, "executives", minEvaluations=3)[0]["rankEligible"]
    [point] = data_of(client, "trends", granularity="month")["series"][0]["points"][-1:]
    assert (point["value"], point["count"]) == (80, 2)
    counted = data_of(client, "trends", granularity="month", metric="evaluations")["series"][0]
    assert counted["points"][-1]["value"] == 4
    listed = client.get("/evaluations", params={"hasVerdict": "false"}).json()["data"]
    assert {row["id"] for row in listed} == set(ids[2:])


def test_people_and_bots_are_ranked_apart(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        place = directory.upsert_call_center(session, "c", {"name": "Pune", "labels": {}}).record
        for name, kind in (("Asha", "human"), ("Bo", "bot"), ("Chen", "human")):
            values = {"name": name, "kind": kind, "call_center_id": place.id}
            each = directory.upsert_executive(session, name, values).record
            for _ in range(2 if name == "Chen" else 5):
                completed(session, executive_id=each.id, executive=name)
    found = {row["name"]: row for row in data_of(client, "executives")}
    assert AnalyticsExecutiveSchema(many=True).validate(list(found.values())) == {}
    assert [found[name]["rank"] for name in ("Asha", "Bo", "Chen")] == [1, 1, None]
    assert [found[name]["kind"] for name in ("Asha", "Bo")] == ["human", "bot"]
    assert found["Asha"]["callCenter"] == "Pune"
    assert found["Asha"]["topWeakness"]["meanScore"] <= found["Asha"]["topStrength"]["meanScore"]
    assert not found["Chen"]["rankEligible"]
    by_name = data_of(client, "executives", sort="-name", minEvaluations=1)
    assert [each["name"] for each in by_name] == ["Chen", "Bo", "Asha"]


@pytest.mark.parametrize("view", ["campaigns", "call-centers"])
def test_leaderboards_have_shape_and_pages(client: Caller, runtime: Runtime, view: str) -> None:
    prefix, column = {"campaigns": ("camp", "campaign"), "call-centers": ("cc", "call_center")}[
        view
    ]
    with runtime.db.writing() as session:
        for number in range(3):
            values: dict[str, Any] = {f"{column}_id": new_id(prefix), column: f"No {number}"}
            completed(session, **values)
    answer = client.get(f"/analytics/{view}", params={"pageSize": 2, "page": 2, "sort": "name"})
    body = answer.json()
    assert AnalyticsMemberSchema(many=True).validate(body["data"]) == {}
    assert [row["name"] for row in body["data"]] == ["No 2"]
    assert body["pagination"]["totalCount"] == 3
    changes = [row["change"] for row in data_of(client, view, compare="previous_period")]
    assert changes == [{"meanScore": None, "passRate": None}] * 3


def test_trends_show_empty_periods(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        completed(session)
    data = data_of(client, "trends", metric="passRate", granularity="day")
    assert AnalyticsTrendSchema().validate(data) == {}
    points = data["series"][0]["points"]
    assert len(points) in (30, 31)
    assert points[0]["count"] == 0
    assert points[0]["value"] is None
    assert points[-1]["count"] == 1
    assert points[0]["periodStart"] == data["period"]["from"]
    assert points[-1]["periodEnd"] == data["period"]["to"]
    for former, point in pairwise(points):
        assert former["periodEnd"] == point["periodStart"]
    counts = data_of(client, "trends", metric="evaluations")["series"][0]["points"]
    assert counts[0]["value"] == 0


@pytest.mark.parametrize(
    ("group", "keys"),
    [
        ("none", ["all"]),
        ("channel", ["chat"]),
        ("campaign", []),
        ("executive", []),
        ("callCenter", []),
    ],
)
def test_trends_are_grouped(client: Caller, runtime: Runtime, group: str, keys: list[str]) -> None:
    with runtime.db.writing() as session:
        topics = completed(session).topics
    data = data_of(client, "trends", groupBy=group)
    assert [series["key"] for series in data["series"]] == keys
    found = {series["key"] for series in data_of(client, "trends", groupBy="topic")["series"]}
    assert found == set(topics)


def test_trends_of_sections_are_of_scores(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        evaluation = completed(session)
    results = client.get(f"/evaluations/{evaluation.id}/results").json()["data"]
    ought = {
        section["key"]: section["score"] for section in results["sections"] if section["applicable"]
    }
    data = data_of(client, "trends", groupBy="section", granularity="month")
    found = {series["key"]: series["points"][-1]["value"] for series in data["series"]}
    assert found == ought
    refused = client.get("/analytics/trends", params={"groupBy": "section", "metric": "passRate"})
    assert findings(refused) == {"groupBy": "ENUM"}


def test_days_follow_the_clocks_of_the_zone(client: Caller) -> None:
    params = {"from": "2026-10-24", "to": "2026-10-27", "timezone": "Europe/Berlin"}
    points = data_of(client, "trends", **params)["series"][0]["points"]
    assert [point["periodStart"] for point in points] == [
        "2026-10-23T22:00:00.000Z",
        "2026-10-24T22:00:00.000Z",
        "2026-10-25T23:00:00.000Z",
    ]
    params = {"from": "2026-03-01", "to": "2026-03-03", "timezone": "Asia/Kolkata"}
    hours = data_of(client, "trends", granularity="hour", **params)["series"][0]["points"]
    assert len(hours) == 48
    assert hours[0]["periodStart"] == "2026-02-28T18:30:00.000Z"
    # Its clocks go back by half an hour: the hour from 1:00 has 90 minutes.
    params = {"from": "2026-04-05", "to": "2026-04-06", "timezone": "Australia/Lord_Howe"}
    hours = data_of(client, "trends", granularity="hour", **params)["series"][0]["points"]
    assert len(hours) == 24
    assert hours[1]["periodStart"] == "2026-04-04T14:00:00.000Z"
    assert hours[2]["periodStart"] == "2026-04-04T15:30:00.000Z"


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("params", "field", "code"),
    [
        ({"timezone": "Mars/Base"}, "timezone", "FORMAT"),
        ({"from": "2025-01-01", "to": "2026-02-06"}, "to", "RANGE"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "to", "RANGE"),
        ({"from": "2026-13-01"}, "from", "FORMAT"),
        ({"campaignId": "eng_1"}, "campaignId", "FORMAT"),
        ({"minEvaluations": "0"}, "minEvaluations", "RANGE"),
        ({"compare": "last_year"}, "compare", "ENUM"),
        ({"campaign": "x"}, "campaign", "UNKNOWN"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused(
    shared_client: Caller, view: str, params: dict[str, str], field: str, code: str
) -> None:
    assert findings(shared_client.get(f"/analytics/{view}", params=params)) == {field: code}


@pytest.mark.parametrize("view", VIEWS)
def test_views_need_their_scope(base: str, make_caller: Any, view: str) -> None:
    answer = make_caller(base, scopes=["analytics:export"]).get(f"/analytics/{view}")
    assert error_code(answer) == "INSUFFICIENT_SCOPE"
