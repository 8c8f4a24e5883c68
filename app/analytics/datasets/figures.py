"""The datasets that the views of analytics make: leaderboards, and a day-by-day trend."""

from typing import Any

from app.analytics.datasets.cells import Row, columns, moments_in
from app.analytics.engine.periods import Granularity, period_of
from app.analytics.engine.questions import Question
from app.analytics.engine.reader import FactReader
from app.analytics.reports import leaderboards, trends
from app.analytics.wishes import Dataset, Wish
from app.core.clock import utc_now
from app.core.database.paging import PageRequest

_MEMBER = (
    "id name evaluations:whole without_verdict:whole rank:whole rank_eligible:truth adjusted_score:number "
    "mean_score:number median_score:number p10:number p90:number pass_rate:number "
    "auto_fail_rate:number compliance_mean:number mean_customer_sentiment:number "
    "declining_rate:number resolution_rate:number mean_duration_seconds:number talk_ratio:number "
    "silence_percent:number interruptions_per_call:number first_response_seconds_median:number "
    "last_evaluation_at"
)
BOARD_COLUMNS = columns(_MEMBER)
EXECUTIVE_COLUMNS = columns(f"{_MEMBER} kind call_center_id call_center reviewed_count:whole")
TREND_COLUMNS = columns(
    "period_start period_end evaluations:whole score:number pass_rate:number auto_fail_rate:number "
    "compliance_score:number customer_sentiment:number talk_ratio:number silence_percent:number "
    "interruptions:number agent_wpm:number first_response_seconds:number resolution_rate:number "
    "duration_seconds:number"
)
MIN_EVALUATIONS = 5
_BOARDS = {
    Dataset.EXECUTIVES: leaderboards.executives,
    Dataset.CAMPAIGNS: leaderboards.campaigns,
    Dataset.CALL_CENTERS: leaderboards.call_centers,
}
_TREND_METRICS = (trends.Metric.EVALUATIONS, *(m for m in trends.Metric if m != "evaluations"))


def rows(facts: FactReader, wish: Wish) -> list[Row]:
    """Return every row at once: there are hundreds, not millions."""
    return _trend(facts, wish) if wish.dataset is Dataset.TRENDS else _board(facts, wish)


def question_of(wish: Wish) -> Question:
    """Return what the views are asked; a period that is open ends now."""
    period = period_of(wish.start, wish.end, wish.zone, now=utc_now(), location="json")
    named: dict[str, Any] = {**wish.filters}
    return Question(period, **{**named, "channel": tuple(named.get("channel", ()))})


def _board(facts: FactReader, wish: Wish) -> list[Row]:
    question, moment = question_of(wish), moments_in(wish.zone)
    is_executive = wish.dataset is Dataset.EXECUTIVES
    shown = EXECUTIVE_COLUMNS if is_executive else BOARD_COLUMNS
    page = _BOARDS[wish.dataset](
        facts,
        question,
        PageRequest(1, 1_000_000, "rank"),
        min_evaluations=MIN_EVALUATIONS,
        compare=False,
    )
    found: list[Row] = []
    for each in page.items:
        values = {**each, "last_evaluation_at": moment(each["last_evaluation_at"])}
        found.append([values[column.name] for column in shown])
    return found


def _trend(facts: FactReader, wish: Wish) -> list[Row]:
    question, moment = question_of(wish), moments_in(wish.zone)
    series = [
        trends.show(
            facts,
            question,
            metric=metric,
            granularity=Granularity.DAY,
            group_by=trends.GroupBy.NONE,
            limit=1,
        )["series"][0]["points"]
        for metric in _TREND_METRICS
    ]
    return [
        [
            moment(points[0]["period_start"]),
            moment(points[0]["period_end"]),
            *(point["value"] for point in points),
        ]
        for points in zip(*series, strict=True)
    ]
