"""Usage: summary, details and calls by key agree, and a quota warning is published once."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from ipaddress import ip_network
from typing import Any

import pytest
import time_machine
from sqlalchemy import text
from sqlalchemy.dialects import sqlite

from app.audio_files import jobs as audio_files
from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.request_limits.values import CallCount, Visit
from app.core.runtime import Runtime
from app.usage import jobs, meter, reports, service
from app.usage.cli import usage as usage_command
from app.usage.plan import period_of
from tests.caller import Caller, error_code, findings
from tests.recordings import upload
from tests.running import CommandRunner, running_runtime

pytestmark = pytest.mark.sql

PAST = "2024-02"
DAY = datetime(2024, 2, 28, 12, tzinfo=UTC)
HERE = ip_network("127.0.0.0/8")


@pytest.fixture(autouse=True)
def midday() -> Iterator[None]:
    """Midday in the middle of a month: no test reaches another day or period."""
    with time_machine.travel(utc_now().replace(day=15, hour=12), tick=True):
        yield


def details(client: Caller, **params: Any) -> list[dict[str, Any]]:
    """Read every page, with numbers as exact decimals."""
    found: list[dict[str, Any]] = []
    while True:
        page = {"page": len(found) // 7 + 1, "pageSize": 7}
        answer = client.get("/usage/details", params={**page, **params})
        body = json.loads(answer.text, parse_float=Decimal)
        assert set(body) == {"data", "meta", "pagination"}
        found += body["data"]
        if len(found) >= body["pagination"]["totalCount"]:
            assert body["pagination"]["totalPages"] == -(-len(found) // 7)
            return found


def used(client: Caller, period: str = PAST) -> dict[str, Any]:
    answer = client.get("/usage/summary", params={"billingPeriod": period})
    usage = json.loads(answer.text, parse_float=Decimal)["usage"]
    return {metric: each["used"] for metric, each in usage.items()}


def calls(runtime: Runtime, key_id: str, day: datetime, number: int) -> None:
    count = CallCount(key_id, day.date().isoformat(), "list_engagements")
    for _ in range(number):
        runtime.state.visit(Visit(now=day, count=count))


def store(runtime: Runtime, size_bytes: int, day: datetime = DAY) -> None:
    with runtime.db.writing() as session:
        service.note_storage(session, size_bytes=size_bytes, now=day)


def deliver(runtime: Runtime, day: datetime, number: int = 1) -> None:
    with runtime.db.writing() as session:
        for _ in range(number):
            service.count_deliveries(session, subscription_id="wh_a", now=day, count=1)


def quota_warnings(runtime: Runtime) -> list[dict[str, Any]]:
    with runtime.db.reading() as session:
        bodies = session.scalars(text("SELECT body FROM events ORDER BY id")).all()
    events = [json.loads(bytes(body)) for body in bodies]
    return [event["data"] for event in events if event["event"] == "usage.quota_warning"]


def test_summary_details_and_keys_agree_exactly(
    client: Caller, base: str, make_caller: Callable[..., Caller], runtime: Runtime
) -> None:
    robot = make_caller(base, name="robot").key_id
    for back, size_bytes in [(27, 999_999), (3, 1_200_000_001), (1, 700), (0, 1_500_000_000)]:
        day = DAY - timedelta(days=back)
        calls(runtime, robot, day, back + 1)
        calls(runtime, client.key_id, day, 2)
        deliver(runtime, day, 2)
        store(runtime, size_bytes, day)
    for beside in (DAY - timedelta(days=28), DAY + timedelta(days=2)):
        calls(runtime, robot, beside, 5)
        deliver(runtime, beside)
        store(runtime, 10**12, beside)
    records = details(client, billingPeriod=PAST)
    sums: dict[str, Any] = dict.fromkeys(("calls", "webhooks", "storage_gb"), Decimal(0))
    for record in records:
        sums[record["type"]] += record["quantity"]
    assert sums == used(client)
    assert sums == {"calls": 35 + 8, "webhooks": 8, "storage_gb": Decimal("1.5")}
    keys = client.get("/usage/by-key", params={"billingPeriod": PAST}).json()["keys"]
    assert [key["calls"] for key in keys] == [35, 8]
    for key in keys:
        own = details(client, billingPeriod=PAST, keyId=key["keyId"])
        assert sum(row["quantity"] for row in own) == key["calls"]
        assert {row["keyName"] for row in own} == {key["name"]}


def test_the_summary_compares_usage_with_the_plan(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(plan_tier="team", plan_calls=3, plan_webhooks=10, plan_storage_gb=0.5)
    client = make_caller(base)
    store(running_runtime(), 750_000_000, utc_now())
    for _ in range(3):
        client.get("/engagements")
    period = period_of(utc_now())
    assert client.get("/usage/summary").json() == {
        "billingPeriod": period,
        "tier": "team",
        "usage": {
            "calls": {"used": 4, "included": 3, "overage": 1},
            "webhooks": {"used": 0, "included": 10, "overage": 0},
            "storage_gb": {"used": 0.75, "included": 0.5, "overage": 0.25},
        },
    }


def test_only_authenticated_requests_count_as_calls(client: Caller) -> None:
    client.get("/engagements")
    client.post("/engagements", {})
    client.get("/nothing")
    client.get("/engagements", headers={"X-Signature": "ab" * 32})
    client.plain("GET", "/api/v1/engagements")
    client.plain("GET", "/health")
    assert used(client, period_of(utc_now()))["calls"] == 4


def test_a_record_has_these_fields(client: Caller, runtime: Runtime) -> None:
    client.get("/engagements")
    deliver(runtime, utc_now())
    store(runtime, 1, utc_now())
    records = {detail["type"]: detail for detail in details(client)}
    today = utc_now().date().isoformat()
    key_id = client.key_id
    common = {"billingPeriod": today[:7], "date": today, "billable": True}
    webhook = {"operation": "wh_a", "quantity": 1, "unit": "delivery"}
    storage = {"operation": "storage", "quantity": Decimal("0.000001"), "unit": "gb"}
    nobody = {"keyId": None, "keyName": None}
    for record in records.values():
        assert record.pop("id").startswith("use_")
    assert records["webhooks"] == {**common, **nobody, **webhook, "type": "webhooks"}
    assert records["storage_gb"] == {**common, **nobody, **storage, "type": "storage_gb"}
    call = records["calls"]
    assert (call["keyId"], call["keyName"], call["unit"]) == (key_id, "test", "request")


def test_operations_are_named_as_in_the_openapi_document(client: Caller) -> None:
    client.get("/engagements")
    client.get("/webhooks")
    client.get("/nothing")
    client.get("/usage/by-key")
    found = {detail["operation"] for detail in details(client, type="calls")}
    document = client.plain("GET", "/openapi.json").json()
    known = {
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    }
    assert found - known == {"unknown"}
    assert "getUsageByKey" in found


def test_the_newest_day_comes_first_by_default(client: Caller, runtime: Runtime) -> None:
    for back in (3, 0, 2, 1):
        deliver(runtime, DAY - timedelta(days=back))
    dates = [detail["date"] for detail in details(client, billingPeriod=PAST)]
    assert dates == ["2024-02-28", "2024-02-27", "2024-02-26", "2024-02-25"]
    assert [detail["date"] for detail in details(client, billingPeriod=PAST, sort="date")] == dates[
        ::-1
    ]


def test_details_are_filtered_by_type_and_key(client: Caller, runtime: Runtime) -> None:
    calls(runtime, client.key_id, DAY, 1)
    deliver(runtime, DAY)
    store(runtime, 5000)
    for metric in ("calls", "webhooks", "storage_gb"):
        found = details(client, billingPeriod=PAST, type=metric)
        assert [row["type"] for row in found] == [metric]
    key_id = client.key_id
    assert len(details(client, billingPeriod=PAST, keyId=key_id)) == 1
    assert details(client, billingPeriod=PAST, keyId=key_id, type="webhooks") == []
    assert details(client, billingPeriod=PAST, keyId=new_id("key")) == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/usage/summary?billingPeriod=2026-13", "billingPeriod"),
        ("/usage/summary?billingPeriod=2026-1", "billingPeriod"),
        ("/usage/summary?period=2026-01", "period"),
        ("/usage/summary?billingPeriod=2026-01&billingPeriod=2026-02", "billingPeriod"),
        ("/usage/by-key?keyId=x", "keyId"),
        ("/usage/details?type=bytes", "type"),
        ("/usage/details?keyId=me", "keyId"),
        ("/usage/details?operation=listEngagements", "operation"),
        ("/usage/details?pageSize=101", "pageSize"),
        ("/usage/details?sort=quantity", "sort"),
    ],
)
def test_a_mistyped_parameter_is_refused(client: Caller, path: str, field: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 422
    assert field in findings(answer)


@pytest.mark.parametrize("period", ["0000-01", "1970-01", "2999-12", "9999-12"])
def test_a_period_without_usage_is_zero(client: Caller, period: str) -> None:
    assert set(used(client, period).values()) == {0}
    assert details(client, billingPeriod=period) == []
    keys = client.get("/usage/by-key", params={"billingPeriod": period}).json()["keys"]
    assert [key["calls"] for key in keys] == [0]


@pytest.mark.parametrize("path", ["/usage/summary", "/usage/details", "/usage/by-key"])
def test_usage_needs_its_scope(base: str, make_caller: Callable[..., Caller], path: str) -> None:
    answer = make_caller(base, scopes=["engagements:read"]).get(path + "?no=1")
    assert answer.status_code == 403
    assert error_code(answer) == "INSUFFICIENT_SCOPE"
    assert make_caller(base, scopes=["usage:read"]).get(path).status_code == 200


def test_storage_counts_as_the_peak_of_the_period(client: Caller, runtime: Runtime) -> None:
    hours = [(0, 3_000), (1, 9_000), (2, 2_000), (24, 8_000), (48, 12_345), (72, 1_000)]
    for hour, size_bytes in hours:
        store(runtime, size_bytes, DAY.replace(day=2) + timedelta(hours=hour))
    assert used(client)["storage_gb"] == Decimal("0.000013")
    records = details(client, billingPeriod=PAST, type="storage_gb", sort="date")
    grown = [(record["date"][-2:], record["quantity"]) for record in records]
    assert grown == [("02", Decimal("0.000009")), ("04", Decimal("0.000004"))]
    store(runtime, 1_000, DAY + timedelta(days=2))
    assert used(client, "2024-03")["storage_gb"] == Decimal("0.000001"), "each month anew"


def test_stored_recordings_are_measured(client: Caller, runtime: Runtime) -> None:
    upload(client, b"x" * 70_001)
    upload(client, b"x" * 30_000)
    with time_machine.travel(utc_now() + timedelta(days=32)):
        audio_files.measure_storage(runtime)
        next_period = period_of(utc_now())
    assert used(client, next_period)["storage_gb"] == Decimal("0.000101")
    assert used(client, period_of(utc_now()))["storage_gb"] == Decimal("0.000101")


def test_a_quota_warning_is_published_once_for_each_metric_and_period(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    base = serve(plan_calls=5, plan_webhooks=10, plan_storage_gb=1.0)
    client, runtime, now = make_caller(base), running_runtime(), utc_now()
    for _ in range(3):
        client.get("/engagements")
    deliver(runtime, now, 7)
    store(runtime, 799_999_000, now)
    meter.flush(runtime)
    jobs.check_quotas(runtime)
    assert quota_warnings(runtime) == []
    client.get("/engagements")
    deliver(runtime, now, 2)
    store(runtime, 800_000_000, now)
    meter.flush(runtime)
    for _ in range(3):
        jobs.check_quotas(runtime)
    common = {"billing_period": period_of(now), "threshold_percent": 80}
    assert quota_warnings(runtime) == [
        {**common, "metric": "calls", "used": 4, "included": 5, "percent": 80},
        {**common, "metric": "webhooks", "used": 9, "included": 10, "percent": 90},
        {**common, "metric": "storage_gb", "used": 0.8, "included": 1.0, "percent": 80},
    ]


def test_concurrent_checks_publish_one_warning(serve: Callable[..., str]) -> None:
    serve(plan_webhooks=2)
    deliver(running_runtime(), utc_now(), 2)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(jobs.check_quotas, [running_runtime()] * 8))
    assert len(quota_warnings(running_runtime())) == 1


def test_concurrent_storage_measurements_count_once(client: Caller, runtime: Runtime) -> None:
    sizes = [number % 5 * 1_000_000_000 for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda size_bytes: store(runtime, size_bytes), sizes))
    assert used(client)["storage_gb"] == 4


def test_a_quota_warning_reaches_its_subscribers(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(plan_webhooks=2, webhook_allowed_cidrs=(HERE,)))
    hook = {"url": "https://127.0.0.1:8443/", "events": ["usage.quota_warning"]}
    hook_id = client.post("/webhooks", hook).json()["data"]["id"]
    deliver(running_runtime(), utc_now(), 2)
    jobs.check_quotas(running_runtime())
    (delivery,) = client.get(f"/webhooks/{hook_id}/deliveries").json()["data"]
    assert delivery["event"] == "usage.quota_warning"
    assert delivery["payload"]["data"]["percent"] == 100


def test_a_quota_reached_at_the_end_of_a_period_is_published_in_the_next_one(
    serve: Callable[..., str],
) -> None:
    serve(plan_webhooks=10)
    runtime = running_runtime()
    deliver(runtime, datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC), 8)
    with time_machine.travel(datetime(2026, 12, 1, 0, 0, 3, tzinfo=UTC), tick=False):
        jobs.check_quotas(runtime)
        jobs.check_quotas(runtime)
    assert [warning["billing_period"] for warning in quota_warnings(runtime)] == ["2026-11"]


def test_a_plan_that_includes_nothing_publishes_no_warning(serve: Callable[..., str]) -> None:
    serve(plan_webhooks=0)
    deliver(running_runtime(), utc_now(), 3)
    jobs.check_quotas(running_runtime())
    assert quota_warnings(running_runtime()) == []


@pytest.mark.sqlite_only("the plan is SQLite's")
def test_an_index_covers_the_totals(runtime: Runtime) -> None:
    options = {"literal_binds": True}
    statement = reports.totals_of(PAST).compile(dialect=sqlite.dialect(), compile_kwargs=options)
    with runtime.db.reading() as session:
        plan = session.execute(text(f"EXPLAIN QUERY PLAN {statement}")).all()
    assert [row.detail for row in plan] == [
        "SEARCH usage_records USING COVERING INDEX ix_usage_records_sums "
        "(type=? AND date>? AND date<?)"
    ]


def test_the_command_shows_the_same(client: Caller, runtime: Runtime) -> None:
    calls(runtime, client.key_id, DAY, 3)
    store(runtime, 2_000_000)
    runner = CommandRunner()
    shown = runner.invoke(usage_command, ["show", "--period", PAST, "--json"])
    assert shown.exit_code == 0
    told = json.loads(shown.output)
    keys = told.pop("keys")
    assert told == client.get(f"/usage/summary?billingPeriod={PAST}").json()
    assert [(key["name"], key["calls"]) for key in keys] == [("test", 3)]
    plain = runner.invoke(usage_command, ["show", "--period", PAST])
    assert plain.exit_code == 0
    assert "0.002 of 100.0" in plain.output
    assert runner.invoke(usage_command, ["show", "--period", "2024-2"]).exit_code == 2
