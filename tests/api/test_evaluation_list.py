"""The list of evaluations: filters, sorting and paging."""

import random
from datetime import timedelta
from typing import Any

import pytest

from app.core.clock import iso_utc
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.engagements import service as engagements
from app.evaluations.models import EvaluationTopic
from tests.caller import Caller, findings
from tests.evaluation_rows import NOW, rows_of

pytestmark = pytest.mark.sql


def found(client: Caller, **params: Any) -> list[str]:
    answer = client.get("/evaluations", params=params)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    ids = [row["id"] for row in body["data"]]
    if "page" not in params and "pageSize" not in params:
        assert body["pagination"]["totalCount"] == len(ids)
    return ids


def test_lists_have_shape_a_with_pagination(client: Caller) -> None:
    body = client.get("/evaluations").json()
    assert set(body) == {"data", "meta", "pagination"}
    assert body["pagination"] == {"page": 1, "pageSize": 25, "totalCount": 0, "totalPages": 0}


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"channel": "chat"}, [0, 1]),
    ({"channel": "voice,voice_bot"}, [2, 3]),
    ({"status": "failed"}, [3]),
    ({"minScore": 80}, [0, 1]),
    ({"minScore": 40, "maxScore": 80}, [1, 2]),
    ({"maxConfidence": "0.5"}, [0, 2]),
    ({"scorecardVersion": "2"}, [3]),
    ({"maxConfidence": "0.5", "sort": "confidence"}, [2, 0]),
    ({"passed": "true"}, [0, 1]),
    ({"passed": "false"}, [2]),
    ({"hasVerdict": "true"}, [0, 1, 2]),
    ({"hasVerdict": "false"}, []),
    ({"autoFailed": "true"}, [2]),
    ({"resolution": "resolved,escalated"}, [0, 2]),
    ({"sentimentTrend": "declining"}, [2]),
    ({"language": "en"}, [0, 1]),
    ({"language": "en-IN"}, [1]),
    ({"reviewStatus": "disputed"}, [1]),
    ({"sourceType": "audio_file"}, [2]),
    ({"channel": "chat", "passed": "true", "resolution": "resolved"}, [0]),
    ({"from": iso_utc(NOW - timedelta(minutes=1))}, [0, 1]),
    ({"to": iso_utc(NOW - timedelta(minutes=1))}, [2, 3]),
    ({"from": "2026-11-20", "to": "2026-11-21"}, [0, 1, 2, 3]),
]


def test_each_filter_finds_its_own(client: Caller, runtime: Runtime) -> None:
    ids = rows_of(
        runtime,
        {"score": 90, "passed": True, "resolution": "resolved", "confidence": 0.5},
        {"score": 80, "passed": True, "language": "en-IN", "review_status": "disputed"},
        {
            "channel": "voice",
            "source_type": "audio_file",
            "score": 40,
            "passed": False,
            "auto_failed": True,
            "resolution": "escalated",
            "sentiment_trend": "declining",
            "language": "hi",
            "confidence": 0.25,
        },
        {"channel": "voice_bot", "status": "failed", "language": None, "scorecard_version": 2},
    )
    for params, expected in FILTERS:
        assert found(client, **params) == [ids[index] for index in expected], params


def test_evaluations_without_a_verdict_are_marked(client: Caller, runtime: Runtime) -> None:
    ids = rows_of(runtime, {"score": 90, "passed": True}, {"score": 90}, {"status": "failed"})
    assert found(client, hasVerdict="false") == [ids[1]]
    listed = client.get("/evaluations").json()["data"]
    assert [row["hasVerdict"] for row in listed] == [True, False, None]
    detail = client.get(f"/evaluations/{ids[1]}").json()["data"]
    assert (detail["hasVerdict"], detail["score"], detail["passed"]) == (False, 90, None)


@pytest.mark.parametrize(
    ("parameter", "column", "prefix"),
    [
        ("campaignId", "campaign_id", "camp"),
        ("callCenterId", "call_center_id", "cc"),
        ("executiveId", "executive_id", "exec"),
        ("sourceId", "source_id", "conv"),
        ("scorecardId", "scorecard_id", "sc"),
    ],
)
def test_ids_filter_exactly(
    client: Caller, runtime: Runtime, parameter: str, column: str, prefix: str
) -> None:
    wanted = new_id(prefix)
    ids = rows_of(runtime, {column: wanted}, {column: new_id(prefix)})
    assert found(client, **{parameter: wanted}) == ids[:1]
    assert found(client, **{parameter: new_id(prefix)}) == []


def test_several_ids_are_listed_at_once(client: Caller, runtime: Runtime) -> None:
    first, second, third = rows_of(runtime, {}, {}, {})
    assert found(client, ids=f"{third},{first},{third}") == [first, third]
    assert found(client, ids=second, status="failed") == []


def test_an_engagement_and_a_topic_filter_exactly(client: Caller, runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        wanted = engagements.create(session, name="Audit", type="qa")["id"]
    ids = rows_of(runtime, {"engagement_id": wanted}, {})
    with runtime.db.writing() as session:
        session.add(EvaluationTopic(topic="billing", evaluation_id=ids[1]))
    assert found(client, engagementId=wanted) == ids[:1]
    assert found(client, topic="billing") == ids[1:]
    assert found(client, topic="billing", engagementId=wanted) == []


def test_q_finds_all_words_in_any_case_and_takes_signs_literally(
    client: Caller, runtime: Runtime
) -> None:
    ids = rows_of(runtime, {}, text="order-48_213\nasha strasse\n100% refund")
    assert found(client, q="REFUND Asha") == ids
    assert found(client, q="STRASSE") == ids
    assert found(client, q="straße") == ids
    assert found(client, q="48_2") == ids
    assert found(client, q="48%213") == []
    assert found(client, q="refund chargeback") == []


@pytest.mark.parametrize(
    ("params", "field", "code"),
    [
        ({"chanel": "chat"}, "chanel", "UNKNOWN"),
        ({"channel": "fax"}, "channel", "ENUM"),
        ({"status": "completed,done"}, "status", "ENUM"),
        ({"minScore": "101"}, "minScore", "RANGE"),
        ({"minScore": "60", "maxScore": "50"}, "maxScore", "RANGE"),
        ({"ids": "eval_17"}, "ids", "FORMAT"),
        ({"ids": ",".join(f"eval_{number:026}" for number in range(101))}, "ids", "LENGTH"),
        ({"maxConfidence": "1.5"}, "maxConfidence", "RANGE"),
        ({"maxConfidence": "low"}, "maxConfidence", "TYPE"),
        ({"passed": "yes"}, "passed", "TYPE"),
        ({"engagementId": "17"}, "engagementId", "FORMAT"),
        ({"sourceId": "eng_17"}, "sourceId", "FORMAT"),
        ({"sort": "-summary"}, "sort", "ENUM"),
        ({"q": "  "}, "q", "LENGTH"),
        ({"from": "yesterday"}, "from", "FORMAT"),
        ({"from": "2026-11-02", "to": "2026-11-01"}, "to", "RANGE"),
        ({"pageSize": "101"}, "pageSize", "RANGE"),
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(
    shared_client: Caller, params: dict[str, str], field: str, code: str
) -> None:
    assert findings(shared_client.get("/evaluations", params=params)) == {field: code}


@pytest.mark.parametrize("name", ["score", "confidence", "durationSeconds", "startedAt"])
def test_what_has_no_value_comes_last_in_both_directions(
    client: Caller, runtime: Runtime, name: str
) -> None:
    values = [
        {"score": score, "confidence": score, "duration_seconds": score, "started_at": moment}
        for score, moment in ((10, NOW), (None, None), (30, NOW + timedelta(days=1)))
    ]
    low, none, high = rows_of(runtime, *values)
    assert found(client, sort=name) == [low, high, none]
    assert found(client, sort=f"-{name}") == [high, low, none]


@pytest.mark.parametrize("sort", ["createdAt", "-createdAt", "score", "-score"])
def test_pages_join_to_the_whole_list(client: Caller, runtime: Runtime, sort: str) -> None:
    dice = random.Random(5)
    rows_of(runtime, *({"score": dice.choice([None, 1, 2, 3])} for _ in range(23)))
    whole = found(client, sort=sort, pageSize=100)
    assert len(set(whole)) == 23
    pages = [found(client, sort=sort, pageSize=4, page=page) for page in range(1, 8)]
    assert [row for page in pages for row in page] == whole
    assert pages[6] == []
