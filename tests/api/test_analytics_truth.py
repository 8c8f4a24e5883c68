"""Every figure of every view, beside one worked out from the plain list of evaluations."""

import math
import random
import statistics as plain
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from app.analytics import jobs
from app.analytics.engine import rebuilding
from app.core.clock import iso_utc
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.directory.service import upsert_executive
from app.evaluations import revisions
from app.evaluations.enums import RESOLUTIONS, TRENDS
from app.evaluations.models import Evaluation, EvaluationResult
from tests.caller import Caller
from tests.evaluation_rows import COMMON, rows_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STATUSES = ["completed"] * 7 + ["failed", "queued", "canceled"]
PREFIX = {"campaign": "camp", "call_center": "cc", "executive": "exec"}
METRICS = {
    "talkRatio": lambda dice: round(dice.random(), 4),
    "silencePercent": lambda dice: round(dice.uniform(0, 60), 4),
    "deadAirCount": lambda dice: dice.randrange(4),
    "interruptionsByAgent": lambda dice: dice.randrange(6),
    "agentWpm": lambda dice: round(dice.uniform(90, 200), 4),
    "firstResponseSeconds": lambda dice: round(dice.uniform(0, 500), 2),
}
CRITERIA = [("greeting", "opening"), ("accuracy", "resolution"), ("recap", "closing")]


class World:
    """Random evaluations in the database, and the same as a plain list.

    Half of them are of two busy days, one of these with a very busy hour.
    """

    def __init__(self, runtime: Runtime, number: int) -> None:
        dice = random.Random(number)
        self.runtime, self.dice = runtime, dice
        self.ids = {noun: [new_id(prefix) for _ in range(4)] for noun, prefix in PREFIX.items()}
        self.kinds = {}
        with runtime.db.writing() as session:
            for index, kind in enumerate(("human", "human", "bot")):
                each, _ = upsert_executive(session, str(index), {"name": f"E{index}", "kind": kind})
                self.ids["executive"][index] = each.id
                self.kinds[each.id] = kind
        self.rows = [self._row(dice) for _ in range(number)]
        documents = [row.pop("document") for row in self.rows]
        for row, found in zip(self.rows, rows_of(runtime, *self.rows), strict=True):
            row["id"] = found
        with runtime.db.writing() as session:
            session.execute(
                insert(EvaluationResult),
                [
                    {"evaluation_id": row["id"], "document": each, "segment_sentiments": {}}
                    for row, each in zip(self.rows, documents, strict=True)
                    if row["status"] == "completed"
                ],
            )
            reached: str | None = ""
            while reached is not None:
                reached = rebuilding.rebuild_after(session, reached)
        for row, document in zip(self.rows, documents, strict=True):
            row["document"] = document

    def happen(self, what: str) -> None:
        """Fold, or change an evaluation as a review, another judgement or an erasure does."""
        if what == "fold":
            jobs.write_parts(self.runtime, at_least=1)
            return
        row = self.dice.choice([row for row in self.rows if row["is_current"]])
        with self.runtime.db.writing() as session:
            current = session.get_one(Evaluation, row["id"])
            if what == "override" and row["status"] == "completed":
                row["score"] = current.score = self.dice.randrange(101)
                row["passed"] = current.passed = not row["passed"]
            if what == "re-evaluation":
                row["is_current"] = current.is_current = False
                session.flush()
                row = {**self._row(self.dice), "id": new_id("eval"), "is_current": True}
                row |= {"source_id": current.source_id, "source_type": current.source_type}
                self.rows.append(row)
                own = {name: value for name, value in row.items() if name != "document"}
                updated = {"revision": current.revision + 1, "updated_at": row["created_at"]}
                current = Evaluation(**{**COMMON, **own, **updated})
                session.add(current)
                session.flush()
                if row["status"] == "completed":
                    document = row["document"]
                    session.add(
                        EvaluationResult(
                            evaluation_id=current.id, document=document, segment_sentiments={}
                        )
                    )
                    session.flush()
            revisions.notify_changed(session, current)

    def _row(self, dice: random.Random) -> dict[str, Any]:
        status = dice.choice(STATUSES)
        done = status == "completed"
        some = lambda value: value if done and dice.random() < 0.8 else None  # noqa: E731
        begin_h, length_h = dice.choice([(0, 70 * 24), (0, 70 * 24), (30 * 24, 24), (55 * 24, 1)])
        seconds = dice.randrange(begin_h * 3600, (begin_h + length_h) * 3600)
        moment = NOW - timedelta(seconds=seconds, microseconds=dice.randrange(9))
        ids = {noun: dice.choice([*self.ids[noun], None]) for noun in PREFIX}
        return {
            **{f"{noun}_id": key for noun, key in ids.items()},
            **{noun: key and f"{noun} {key[-4:]}" for noun, key in ids.items()},
            "created_at": moment,
            "completed_at": moment + timedelta(milliseconds=dice.randrange(5000)) if done else None,
            "source_type": dice.choice(["conversation", "audio_file", "voice_call"]),
            "channel": dice.choice(["chat", "voice", "voice_bot"]),
            "status": status,
            "is_current": dice.random() < 0.9,
            "score": dice.randrange(101) if done else None,
            "passed": dice.random() < 0.7 if done else None,
            "auto_failed": done and dice.random() < 0.1,
            "compliance_score": some(round(dice.uniform(0, 100), 2)),
            "customer_sentiment": some(round(dice.uniform(-1, 1), 4)),
            "sentiment_trend": some(dice.choice(TRENDS)),
            "resolution": some(dice.choice(RESOLUTIONS)),
            "duration_seconds": some(dice.randrange(4000)),
            "topics": dice.sample(["billing", "refund", "delivery"], dice.randrange(3))
            if done
            else [],
            "review_status": dice.choice(["none", "reviewed"]),
            "document": {
                "metrics": {name: some(make(dice)) for name, make in METRICS.items()},
                "criteria": [
                    {
                        "key": key,
                        "title": key.title(),
                        "section": section,
                        "normalizedScore": some(dice.choice([0, 0.5, 1, 0.3333])),
                    }
                    for key, section in CRITERIA
                ],
                "sections": [
                    {
                        "key": section,
                        "title": section,
                        "score": some(round(dice.uniform(0, 100), 2)),
                    }
                    for _, section in CRITERIA
                ],
            },
        }

    def meant(
        self, start: datetime, end: datetime, filters: dict[str, str]
    ) -> list[dict[str, Any]]:
        names = {"campaignId": "campaign_id", "callCenterId": "call_center_id"}
        names |= {"executiveId": "executive_id", "channel": "channel"}
        return [
            row
            for row in self.rows
            if row["is_current"]
            and start <= row["created_at"] < end
            and all(row[names[name]] in value.split(",") for name, value in filters.items())
        ]


def known(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def metric(rows: list[dict[str, Any]], name: str) -> list[float]:
    found = [row["document"]["metrics"][name] for row in rows]
    return [each for each in found if each is not None]


def mean(values: list[Any]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def percentile(values: list[float], share: int) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return plain.quantiles(values, n=100, method="inclusive")[share - 1]


def rate(values: list[str], of: tuple[str, ...], without: str) -> float | None:
    counted = [each for each in values if each != without]
    return sum(each in of for each in counted) / len(counted) if counted else None


def same(found: float | None, ought: float | None, within: float) -> bool:
    if found is None or ought is None:
        return found is ought is None
    return abs(found - ought) <= within + 1e-9


GOOD, BAD = ("improving", "slightly_improving"), ("declining", "slightly_declining")
Figure = tuple[Callable[[list[dict[str, Any]]], float | None], float]
BOARD: dict[str, Figure] = {
    "meanScore": (lambda rows: mean(known(rows, "score")), 0.005),
    "medianScore": (lambda rows: percentile(known(rows, "score"), 50), 0.005),
    "p10": (lambda rows: percentile(known(rows, "score"), 10), 0.005),
    "p90": (lambda rows: percentile(known(rows, "score"), 90), 0.005),
    "passRate": (lambda rows: mean(known(rows, "passed")), 5e-5),
    "autoFailRate": (lambda rows: mean(known(rows, "auto_failed")), 5e-5),
    "complianceMean": (lambda rows: mean(known(rows, "compliance_score")), 0.005),
    "meanCustomerSentiment": (lambda rows: mean(known(rows, "customer_sentiment")), 5e-5),
    "decliningRate": (
        lambda rows: rate(known(rows, "sentiment_trend"), BAD, "not_calculated"),
        5e-5,
    ),
    "resolutionRate": (
        lambda rows: rate(known(rows, "resolution"), ("resolved",), "unknown"),
        5e-5,
    ),
    "meanDurationSeconds": (lambda rows: mean(known(rows, "duration_seconds")), 0.005),
    "talkRatio": (lambda rows: mean(metric(rows, "talkRatio")), 5e-5),
    "silencePercent": (lambda rows: mean(metric(rows, "silencePercent")), 0.005),
    "interruptionsPerCall": (lambda rows: mean(metric(rows, "interruptionsByAgent")), 5e-5),
    "firstResponseSecondsMedian": (
        lambda rows: percentile(metric(rows, "firstResponseSeconds"), 50),
        0.005,
    ),
}
TREND: dict[str, Figure] = {
    "score": BOARD["meanScore"],
    "passRate": BOARD["passRate"],
    "autoFailRate": BOARD["autoFailRate"],
    "complianceScore": BOARD["complianceMean"],
    "customerSentiment": BOARD["meanCustomerSentiment"],
    "evaluations": (lambda rows: float(len(rows)), 0),
    "talkRatio": BOARD["talkRatio"],
    "silencePercent": BOARD["silencePercent"],
    "interruptions": BOARD["interruptionsPerCall"],
    "agentWpm": (lambda rows: mean(metric(rows, "agentWpm")), 0.005),
    "firstResponseSeconds": (lambda rows: mean(metric(rows, "firstResponseSeconds")), 0.005),
    "resolutionRate": BOARD["resolutionRate"],
    "durationSeconds": BOARD["meanDurationSeconds"],
}


def criteria_of(rows: list[dict[str, Any]]) -> dict[str, tuple[float, int]]:
    found = defaultdict(list)
    for row in rows:
        for each in row["document"]["criteria"]:
            if each["normalizedScore"] is not None:
                found[each["key"]].append(100 * each["normalizedScore"])
    return {key: (math.fsum(values) / len(values), len(values)) for key, values in found.items()}


def sections_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    found = defaultdict(list)
    for row in rows:
        for each in row["document"]["sections"]:
            if each["score"] is not None:
                found[each["key"]].append(each["score"])
    return {key: math.fsum(values) / len(values) for key, values in found.items()}


def check_summary(data: Any, rows: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    done = [row for row in rows if row["status"] == "completed"]
    statuses = [row["status"] for row in rows]
    assert data["totals"] == {
        "conversations": sum(row["source_type"] == "conversation" for row in rows),
        "voiceCalls": sum(row["source_type"] == "voice_call" for row in rows),
        "audioFiles": sum(row["source_type"] == "audio_file" for row in rows),
        "evaluations": len(rows),
        "completed": len(done),
        "failed": statuses.count("failed"),
        "pending": statuses.count("queued"),
    }
    assert same(data["coverage"], len(done) / len(rows) if rows else None, 5e-5)
    scores = known(done, "score")
    score = data["score"]
    names = {"mean": "meanScore", "median": "medianScore", "p10": "p10", "p90": "p90"}
    names |= {name: name for name in ("passRate", "autoFailRate", "complianceMean")}
    for name, figure in names.items():
        assert same(score[name], BOARD[figure][0](done), BOARD[figure][1]), name
    assert same(score["stdev"], plain.pstdev(scores) if scores else None, 0.005)
    for index, each in enumerate(score["distribution"]):
        high = 101 if index == 9 else each["to"]
        assert each["count"] == sum(each["from"] <= value < high for value in scores)
    felt = known(done, "customer_sentiment")
    sentiment = data["sentiment"]
    assert sentiment["positive"] == sum(value >= 0.1 for value in felt)
    assert sentiment["negative"] == sum(value <= -0.1 for value in felt)
    assert sentiment["neutral"] == sum(abs(value) < 0.1 for value in felt)
    assert same(sentiment["meanCustomer"], mean(felt), 5e-5)
    trends = known(done, "sentiment_trend")
    assert same(sentiment["improvingRate"], rate(trends, GOOD, "not_calculated"), 5e-5)
    assert same(sentiment["decliningRate"], rate(trends, BAD, "not_calculated"), 5e-5)
    ends = [row["resolution"] or "unknown" for row in done]
    assert data["resolution"] == {word: ends.count(word) for word in RESOLUTIONS}
    speech = data["speech"]
    assert same(speech["talkRatio"], mean(metric(done, "talkRatio")), 5e-5)
    assert same(speech["silencePercent"], mean(metric(done, "silencePercent")), 0.005)
    assert same(speech["deadAirPerCall"], mean(metric(done, "deadAirCount")), 5e-5)
    assert same(speech["interruptionsPerCall"], mean(metric(done, "interruptionsByAgent")), 5e-5)
    assert same(speech["agentWpm"], mean(metric(done, "agentWpm")), 0.005)
    response = data["response"]
    assert same(
        response["firstResponseSecondsMedian"],
        percentile(metric(done, "firstResponseSeconds"), 50),
        0.005,
    )
    assert same(
        response["firstResponseSecondsP90"],
        percentile(metric(done, "firstResponseSeconds"), 90),
        0.005,
    )
    for each in data["byChannel"]:
        own = [row for row in done if row["channel"] == each["channel"]]
        assert each["evaluations"] == len(own) > 0
        assert same(each["meanScore"], mean(known(own, "score")), 0.005)
        assert same(each["passRate"], mean(known(own, "passed")), 5e-5)
    assert sum(each["evaluations"] for each in data["byChannel"]) == len(done)
    topics = [topic for row in done for topic in row["topics"]]
    assert {each["topic"]: each["count"] for each in data["topTopics"]} == {
        topic: topics.count(topic) for topic in set(topics)
    }
    ought = {key: found for key, found in criteria_of(done).items() if found[1] >= 3}
    assert {each["key"] for each in data["weakestCriteria"]} == set(ought)
    for each in data["weakestCriteria"]:
        assert same(each["meanScore"], ought[each["key"]][0], 0.005)
        assert each["evaluations"] == ought[each["key"]][1]
    former = [row for row in before if row["status"] == "completed"]
    assert data["change"]["evaluations"] == len(done) - len(former)
    now, then = mean(scores), mean(known(former, "score"))
    moved = None if now is None or then is None else now - then
    assert same(data["change"]["meanScore"], moved, 0.01)


def check_board(
    data: Any, noun: str, rows: list[dict[str, Any]], before: list[dict[str, Any]], world: World
) -> None:
    done = [row for row in rows if row["status"] == "completed" and row[f"{noun}_id"]]
    ids = {row[f"{noun}_id"] for row in done}
    assert {each["id"] for each in data} == ids
    kind = {key: world.kinds.get(key, "human") if noun == "executive" else "" for key in ids}
    adjusted = {}
    for key in ids:
        own = [row["score"] for row in done if row[f"{noun}_id"] == key]
        like = [row["score"] for row in done if kind[row[f"{noun}_id"]] == kind[key]]
        adjusted[key] = (sum(own) + 5 * sum(like) / len(like)) / (len(own) + 5)
    for each in data:
        own = [row for row in done if row[f"{noun}_id"] == each["id"]]
        assert each["evaluations"] == len(own)
        for name, (work_out, within) in BOARD.items():
            assert same(each[name], work_out(own), within), name
        last = max(row["completed_at"] for row in own)
        assert each["lastEvaluationAt"] == iso_utc(last)
        assert same(each["adjustedScore"], adjusted[each["id"]], 0.005)
        assert each["rankEligible"] == (len(own) >= 3)
        ought = sections_of(own)
        assert {section["key"] for section in each["sections"]} == set(ought)
        for section in each["sections"]:
            assert same(section["meanScore"], ought[section["key"]], 0.005)
        then = [row for row in before if row[f"{noun}_id"] == each["id"]]
        former = mean(known([row for row in then if row["status"] == "completed"], "passed"))
        now = mean(known(own, "passed"))
        moved = None if now is None or former is None else now - former
        assert same(each["change"]["passRate"], moved, 1e-4)
        if noun == "executive":
            assert each["kind"] == kind[each["id"]]
            assert each["reviewedCount"] == sum(row["review_status"] == "reviewed" for row in own)
            often = {key: found for key, found in criteria_of(own).items() if found[1] >= 3}
            means = [found[0] for found in often.values()]
            if means:
                assert same(each["topStrength"]["meanScore"], max(means), 0.005)
                assert same(each["topWeakness"]["meanScore"], min(means), 0.005)
    for each_kind in set(kind.values()):
        ranked = [each for each in data if each["rankEligible"] and kind[each["id"]] == each_kind]
        ranked.sort(key=lambda each: -adjusted[each["id"]])
        assert [each["rank"] for each in ranked] == list(range(1, len(ranked) + 1))


def check_trend(
    data: Any, name: str, rows: list[dict[str, Any]], group: str, zone: ZoneInfo
) -> None:
    done = [row for row in rows if row["status"] == "completed"]
    keys = {"none": lambda row: ["all"], "channel": lambda row: [row["channel"]]}
    keys |= {"topic": lambda row: row["topics"], "campaign": lambda row: [row["campaign_id"]]}
    work_out, within = TREND[name]
    for series in data["series"]:
        own = [row for row in done if series["key"] in keys[group](row)]
        counts = 0
        for point in series["points"]:
            start, end = (
                datetime.fromisoformat(point[f"period{each}"]) for each in ("Start", "End")
            )
            there = [row for row in own if start <= row["created_at"] < end]
            assert same(point["value"], work_out(there), within), point
            counts += point["count"]
            first = start.astimezone(zone)
            assert point is series["points"][0] or (first.hour, first.minute) == (0, 0)
        if name == "score":
            assert counts == len(own)


@pytest.fixture
def world(runtime: Runtime) -> World:
    return World(runtime, 400)


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "campaignId": st.integers(0, 3),
        "callCenterId": st.integers(0, 3),
        "executiveId": st.integers(0, 3),
        "channel": st.sampled_from(["chat", "voice", "chat,voice_bot"]),
    },
)
HAPPENINGS = ["nothing", "override", "re-evaluation", "erasure", "fold", "fold"]
ZONES = ["UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    filters=FILTERS,
    zone=st.sampled_from(ZONES),
    begin_s=st.integers(0, 60 * 86_400),
    length_s=st.integers(1, 40 * 86_400),
    name=st.sampled_from(sorted(TREND)),
    granularity=st.sampled_from(["day", "week", "month"]),
    group=st.sampled_from(["none", "channel", "topic", "campaign"]),
    happenings=st.lists(st.sampled_from(HAPPENINGS), max_size=3),
)
def test_every_figure_is_that_of_the_plain_list(
    client: Caller,
    world: World,
    filters: dict[str, Any],
    zone: str,
    begin_s: int,
    length_s: int,
    name: str,
    granularity: str,
    group: str,
    happenings: list[str],
) -> None:
    for each in happenings:
        world.happen(each)
    nouns = {"campaignId": "campaign", "callCenterId": "call_center", "executiveId": "executive"}
    chosen = {
        key: world.ids[nouns[key]][value] if key in nouns else value
        for key, value in filters.items()
    }
    start = NOW - timedelta(days=70) + timedelta(seconds=begin_s)
    end = start + timedelta(seconds=length_s)
    rows = world.meant(start, end, chosen)
    before = world.meant(start - (end - start), start, chosen)
    common = {"from": iso_utc(start), "to": iso_utc(end), "timezone": zone, **chosen}
    params = {**common, "minEvaluations": 3, "compare": "previous_period", "pageSize": 100}
    get = lambda view, query: client.get(f"/analytics/{view}", params=query).json()["data"]  # noqa: E731
    boards = {"campaigns": "campaign", "call-centers": "call_center", "executives": "executive"}
    for view, noun in boards.items():
        check_board(get(view, params), noun, rows, before, world)
    del params["pageSize"]
    check_summary(get("summary", params), rows, before)
    asked = {**common, "metric": name, "granularity": granularity, "groupBy": group}
    check_trend(get("trends", asked), name, rows, group, ZoneInfo(zone))
