"""Every figure of every report, compared with one computed from the plain list of evaluations."""

import math
import statistics as plain
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from app.analytics.cli import analytics
from app.core.clock import iso_utc
from app.core.runtime import Runtime
from app.core.setting_parsers import RateLimit
from app.evaluations.enums import RESOLUTIONS
from tests.analytics_world import MOMENTS, NOW, Evaluations, World
from tests.caller import Caller
from tests.running import CommandRunner, running_runtime
from tests.sampling import examples

pytestmark = pytest.mark.sql


def known(rows: Evaluations, name: str) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def ranked(rows: Evaluations) -> list[int]:
    """The scores of those with a verdict."""
    return [row["score"] for row in rows if row["passed"] is not None]


def metric(rows: Evaluations, name: str) -> list[float]:
    values = [row["document"]["metrics"][name] for row in rows]
    return [value for value in values if value is not None]


def mean(values: list[Any]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: int) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return plain.quantiles(values, n=100, method="inclusive")[share - 1]


def rate(values: list[str], of: tuple[str, ...], without: str) -> float | None:
    counted = [value for value in values if value != without]
    return sum(value in of for value in counted) / len(counted) if counted else None


def same(shown: float | None, ought: float | None, within: float) -> bool:
    if shown is None or ought is None:
        return shown is ought is None
    return abs(shown - ought) <= within + 1e-9


GOOD, BAD = ("improving", "slightly_improving"), ("declining", "slightly_declining")
Figure = tuple[Callable[[Evaluations], float | None], float]
LEADERBOARD: dict[str, Figure] = {
    "meanScore": (lambda rows: mean(ranked(rows)), 0.005),
    "medianScore": (lambda rows: percentile(ranked(rows), 50), 0.005),
    "p10": (lambda rows: percentile(ranked(rows), 10), 0.005),
    "p90": (lambda rows: percentile(ranked(rows), 90), 0.005),
    "stdev": (lambda rows: plain.pstdev(ranked(rows)) if ranked(rows) else None, 0.005),
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
    "score": LEADERBOARD["meanScore"],
    "passRate": LEADERBOARD["passRate"],
    "autoFailRate": LEADERBOARD["autoFailRate"],
    "complianceScore": LEADERBOARD["complianceMean"],
    "customerSentiment": LEADERBOARD["meanCustomerSentiment"],
    "evaluations": (lambda rows: float(len(rows)), 0),
    "talkRatio": LEADERBOARD["talkRatio"],
    "silencePercent": LEADERBOARD["silencePercent"],
    "interruptions": LEADERBOARD["interruptionsPerCall"],
    "agentWpm": (lambda rows: mean(metric(rows, "agentWpm")), 0.005),
    "firstResponseSeconds": (lambda rows: mean(metric(rows, "firstResponseSeconds")), 0.005),
    "resolutionRate": LEADERBOARD["resolutionRate"],
    "durationSeconds": LEADERBOARD["meanDurationSeconds"],
}


def criteria_of(rows: Evaluations) -> dict[str, tuple[float, int]]:
    scores = defaultdict(list)
    for row in rows:
        for criterion in row["document"]["criteria"]:
            if criterion["normalizedScore"] is not None:
                scores[criterion["key"]].append(100 * criterion["normalizedScore"])
    return {key: (math.fsum(values) / len(values), len(values)) for key, values in scores.items()}


def sections_of(rows: Evaluations) -> dict[str, float]:
    scores = defaultdict(list)
    for row in rows:
        for section in row["document"]["sections"]:
            if section["score"] is not None:
                scores[section["key"]].append(section["score"])
    return {key: math.fsum(values) / len(values) for key, values in scores.items()}


def check_summary(data: Any, rows: Evaluations, before: Evaluations) -> None:
    done = [row for row in rows if row["status"] == "completed"]
    statuses = [row["status"] for row in rows]
    assert data["totals"] == {
        "conversations": sum(row["source_type"] == "conversation" for row in rows),
        "voiceCalls": sum(row["source_type"] == "voice_call" for row in rows),
        "audioFiles": sum(row["source_type"] == "audio_file" for row in rows),
        "evaluations": len(rows),
        "completed": len(done),
        "withoutVerdict": sum(row["passed"] is None for row in done),
        "failed": statuses.count("failed"),
        "pending": statuses.count("queued"),
    }
    assert same(data["coverage"], len(done) / len(rows) if rows else None, 5e-5)
    scores = ranked(done)
    score = data["score"]
    names = {"mean": "meanScore", "median": "medianScore", "p10": "p10", "p90": "p90"}
    names |= {name: name for name in ("passRate", "autoFailRate", "complianceMean")}
    for name, figure in names.items():
        assert same(score[name], LEADERBOARD[figure][0](done), LEADERBOARD[figure][1]), name
    assert same(score["stdev"], plain.pstdev(scores) if scores else None, 0.005)
    for index, bucket in enumerate(score["distribution"]):
        high = 101 if index == 9 else bucket["to"]
        assert bucket["count"] == sum(bucket["from"] <= value < high for value in scores)
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
    for shown in data["byChannel"]:
        own = [row for row in done if row["channel"] == shown["channel"]]
        assert shown["evaluations"] == len(own) > 0
        assert same(shown["meanScore"], mean(ranked(own)), 0.005)
        assert same(shown["passRate"], mean(known(own, "passed")), 5e-5)
    assert sum(row["evaluations"] for row in data["byChannel"]) == len(done)
    topics = [topic for row in done for topic in row["topics"]]
    assert {topic["topic"]: topic["count"] for topic in data["topTopics"]} == {
        topic: topics.count(topic) for topic in set(topics)
    }
    ought = {key: figures for key, figures in criteria_of(done).items() if figures[1] >= 3}
    assert {criterion["key"] for criterion in data["weakestCriteria"]} == set(ought)
    for criterion in data["weakestCriteria"]:
        assert same(criterion["meanScore"], ought[criterion["key"]][0], 0.005)
        assert criterion["evaluations"] == ought[criterion["key"]][1]
    former = [row for row in before if row["status"] == "completed"]
    assert data["change"]["evaluations"] == len(done) - len(former)
    now, then = mean(scores), mean(ranked(former))
    moved = None if now is None or then is None else now - then
    assert same(data["change"]["meanScore"], moved, 0.01)


def check_leaderboard(
    data: Any, noun: str, rows: Evaluations, before: Evaluations, world: World
) -> None:
    done = [row for row in rows if row["status"] == "completed" and row[f"{noun}_id"]]
    ids = {row[f"{noun}_id"] for row in done}
    assert {row["id"] for row in data} == ids
    kind = {key: world.kinds.get(key, "human") if noun == "executive" else "" for key in ids}
    adjusted = {}
    for key in ids:
        scores = ranked([row for row in done if row[f"{noun}_id"] == key])
        like = ranked([row for row in done if kind[row[f"{noun}_id"]] == kind[key]])
        adjusted[key] = (
            (sum(scores) + 5 * (mean(like) or 0)) / (len(scores) + 5) if scores else None
        )
    for shown in data:
        own = [row for row in done if row[f"{noun}_id"] == shown["id"]]
        assert shown["evaluations"] == len(own)
        assert shown["withoutVerdict"] == sum(row["passed"] is None for row in own)
        for name, (work_out, within) in LEADERBOARD.items():
            assert same(shown[name], work_out(own), within), name
        last = max(row["completed_at"] for row in own)
        assert shown["lastEvaluationAt"] == iso_utc(last)
        assert same(shown["adjustedScore"], adjusted[shown["id"]], 0.005)
        assert shown["rankEligible"] == (len(ranked(own)) >= 3)
        ought = sections_of(own)
        assert {section["key"] for section in shown["sections"]} == set(ought)
        for section in shown["sections"]:
            assert same(section["meanScore"], ought[section["key"]], 0.005)
        then = [row for row in before if row[f"{noun}_id"] == shown["id"]]
        former = mean(known([row for row in then if row["status"] == "completed"], "passed"))
        now = mean(known(own, "passed"))
        moved = None if now is None or former is None else now - former
        assert same(shown["change"]["passRate"], moved, 1e-4)
        if noun == "executive":
            assert shown["kind"] == kind[shown["id"]]
            assert shown["reviewedCount"] == sum(row["review_status"] == "reviewed" for row in own)
            often = {key: figures for key, figures in criteria_of(own).items() if figures[1] >= 3}
            means = [figures[0] for figures in often.values()]
            if means:
                assert same(shown["topStrength"]["meanScore"], max(means), 0.005)
                assert same(shown["topWeakness"]["meanScore"], min(means), 0.005)
    for each_kind in set(kind.values()):
        placed = [row for row in data if row["rankEligible"] and kind[row["id"]] == each_kind]
        placed.sort(key=lambda row: -adjusted[row["id"]])
        assert [row["rank"] for row in placed] == list(range(1, len(placed) + 1))


def check_trend(
    data: Any, name: str, rows: Evaluations, group: str, zone: ZoneInfo, moment: str
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
            there = [row for row in own if start <= row[moment] < end]
            assert same(point["value"], work_out(there), within), point
            counts += point["count"]
            first = start.astimezone(zone)
            assert point is series["points"][0] or (first.hour, first.minute) == (0, 0)
        if name == "score":
            assert counts == len(ranked(own))


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "campaignId": st.integers(0, 3),
        "callCenterId": st.integers(0, 3),
        "executiveId": st.integers(0, 3),
        "channel": st.sampled_from(["chat", "voice", "chat,voice_bot"]),
        "byDay": st.sampled_from(sorted(MOMENTS)),
    },
)
NOUNS = {"campaignId": "campaign", "callCenterId": "call_center", "executiveId": "executive"}
LEADERBOARDS = {"campaigns": "campaign", "call-centers": "call_center", "executives": "executive"}
ZONES = ["UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"]
PERIODS = st.tuples(
    st.integers(0, 60 * 86_400), st.integers(1, 40 * 86_400), st.sampled_from(ZONES), FILTERS
)


class Reports(RuleBasedStateMachine):
    """Evaluations change, parts are written and lost, and every report stays right."""

    def __init__(self, client: Caller, runtime: Runtime) -> None:
        super().__init__()
        self.client, self.runtime = client, runtime

    @initialize(seed=st.integers(0, 2**32), number=st.integers(1, 100))
    def begin(self, seed: int, number: int) -> None:
        self.world = World(self.runtime, seed, number)

    @rule()
    def override(self) -> None:
        self.world.override()

    @rule()
    def re_evaluate(self) -> None:
        self.world.re_evaluate()

    @rule()
    def write_parts(self) -> None:
        self.world.write_parts()

    @rule()
    def tidy_parts(self) -> None:
        self.world.tidy_parts()

    @rule()
    def lose_a_part(self) -> None:
        self.world.lose_a_part()

    @invariant()
    def nothing_is_missing_or_counts_twice(self) -> None:
        start, end = NOW - timedelta(days=99), NOW + timedelta(days=1)
        data = self.get("summary", {"from": iso_utc(start), "to": iso_utc(end)})
        rows = self.world.chosen(start, end, {})
        assert data["totals"]["evaluations"] == len(rows)
        scores = ranked([row for row in rows if row["status"] == "completed"])
        assert same(data["score"]["mean"], mean(scores), 0.005)

    @rule(period=PERIODS)
    def ask_for_the_summary(self, period: tuple[int, int, str, dict[str, Any]]) -> None:
        asked, rows, before = self.question(period)
        compared = {"minEvaluations": 3, "compare": "previous_period"}
        check_summary(self.get("summary", {**asked, **compared}), rows, before)

    @rule(period=PERIODS, view=st.sampled_from(sorted(LEADERBOARDS)))
    def ask_for_a_leaderboard(
        self, period: tuple[int, int, str, dict[str, Any]], view: str
    ) -> None:
        asked, rows, before = self.question(period)
        compared = {"minEvaluations": 3, "compare": "previous_period", "pageSize": 100}
        data = self.get(view, {**asked, **compared})
        check_leaderboard(data, LEADERBOARDS[view], rows, before, self.world)

    @rule(
        period=PERIODS,
        metric=st.sampled_from(sorted(TREND)),
        granularity=st.sampled_from(["day", "week", "month"]),
        group=st.sampled_from(["none", "channel", "topic", "campaign"]),
    )
    def ask_for_a_trend(
        self,
        period: tuple[int, int, str, dict[str, Any]],
        metric: str,
        granularity: str,
        group: str,
    ) -> None:
        asked, rows, _ = self.question(period)
        shown = {"metric": metric, "granularity": granularity, "groupBy": group}
        moment = MOMENTS[asked.get("byDay", "conversation")]
        check_trend(
            self.get("trends", {**asked, **shown}), metric, rows, group, ZoneInfo(period[2]), moment
        )

    def question(
        self, period: tuple[int, int, str, dict[str, Any]]
    ) -> tuple[dict[str, str], Evaluations, Evaluations]:
        """Return the parameters of a question, its evaluations and those of the period before."""
        begin_s, length_s, zone, filters = period
        chosen = {
            name: self.world.ids[NOUNS[name]][value] if name in NOUNS else value
            for name, value in filters.items()
        }
        start = NOW - timedelta(days=70) + timedelta(seconds=begin_s)
        end = start + timedelta(seconds=length_s)
        asked = {"from": iso_utc(start), "to": iso_utc(end), "timezone": zone, **chosen}
        rows = self.world.chosen(start, end, chosen)
        return asked, rows, self.world.chosen(start - (end - start), start, chosen)

    def get(self, view: str, params: dict[str, Any]) -> Any:
        answer = self.client.get(f"/analytics/{view}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def teardown(self) -> None:
        self.world.tidy_parts()
        checked = CommandRunner().invoke(analytics, ["check"])
        assert checked.exit_code == 0, checked.output


def test_every_report_is_right_whatever_happens(
    serve: Callable[..., str], make_caller: Callable[..., Caller]
) -> None:
    client = make_caller(serve(rate=RateLimit(1_000_000, 60)))
    run_state_machine_as_test(
        lambda: Reports(client, running_runtime()),  # type: ignore[arg-type]
        settings=settings(max_examples=examples(8), stateful_step_count=15, derandomize=True),
    )
