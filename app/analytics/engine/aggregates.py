"""Aggregates: what reports know about the completed evaluations of a group."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from app.analytics.engine import score_means
from app.analytics.engine.database import Row
from app.analytics.engine.questions import Question
from app.analytics.engine.reader import FactReader
from app.analytics.engine.score_means import ScoreMeans
from app.analytics.engine.statements import Aggregation

# The column of a part, where it is not named like the measure.
MEASURES: Mapping[str, str] = {
    "score": "score",
    "passed": "passed::INTEGER",
    "auto_failed": "auto_failed::INTEGER",
    "compliance_score": "compliance_score",
    "customer_sentiment": "customer_sentiment",
    "duration_seconds": "duration_seconds",
    "talk_ratio": "talk_ratio",
    "silence_percent": "silence_percent",
    "dead_air_count": "dead_air_count",
    "interruptions": "interruptions",
    "agent_wpm": "agent_wpm",
    "first_response_seconds": "first_response_seconds",
}
# Below this a sentiment is neither positive nor negative, as in the scorecards' sentiment trend.
_NEUTRAL = 0.1


def sum_and_count(name: str) -> tuple[str, str]:
    """Return the SQL for the sum of a measure, and for how many facts have it."""
    return f"coalesce(sum({MEASURES[name]}), 0)", f"count({name})"


_NUMBERS = (
    "count(*)",
    f"count(*) FILTER (customer_sentiment >= {_NEUTRAL})",
    f"count(*) FILTER (customer_sentiment <= -{_NEUTRAL})",
    *(number for name in MEASURES for number in sum_and_count(name)),
)
# Without values there is no list either.
_PERCENTILES = tuple(
    f"quantile_cont({name}::DOUBLE, [0.1, 0.5, 0.9])"
    for name in ("score", "first_response_seconds")
)
Percentiles: TypeAlias = Sequence[float | None]
_NO_PERCENTILES: Percentiles = (None, None, None)


@dataclass(slots=True)
class Aggregate:
    """Counts and sums over completed evaluations; `add_details` fills in what follows `totals`.

    `totals` has the sum of each measure, and how many evaluations have it. The percentiles are the
    10th, 50th and 90th.
    """

    evaluations: int = 0
    positive: int = 0
    negative: int = 0
    totals: dict[str, tuple[Decimal | int, int]] = field(
        default_factory=lambda: dict.fromkeys(MEASURES, (0, 0))
    )
    score_percentiles: Percentiles = _NO_PERCENTILES
    first_response_percentiles: Percentiles = _NO_PERCENTILES
    sentiment_trends: Counter[str] = field(default_factory=Counter)
    resolutions: Counter[str] = field(default_factory=Counter)
    score_means: ScoreMeans = field(default_factory=ScoreMeans)

    def add(self, other: "Aggregate") -> None:
        """Add the counts and sums of another one; details are left as they are."""
        self.evaluations += other.evaluations
        self.positive += other.positive
        self.negative += other.negative
        for name, (total, count) in other.totals.items():
            before, known = self.totals[name]
            self.totals[name] = (before + total, known + count)


def completed(by: str | None) -> str:
    """Return the SQL condition for completed evaluations that belong to some group."""
    return "status = 'completed'" + (f" AND {by} IS NOT NULL" if by else "")


def aggregate(
    facts: FactReader,
    question: Question,
    by: str | None = None,
    among: Mapping[str, Sequence[str]] | None = None,
) -> dict[Any, Aggregate]:
    """Aggregate the facts of a question, for each value of a column or under None all together."""
    wanted = Aggregation((by,) if by else (), _NUMBERS, completed(by))
    groups = facts.aggregate(question, wanted, among)
    return {key[0] if by else None: _aggregate(*numbers) for key, numbers in groups.items()}


def add_details(
    facts: FactReader,
    question: Question,
    found: Mapping[Any, Aggregate],
    by: str | None = None,
    among: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Fill in the details of aggregates that `aggregate` has returned for the same question."""
    keys = (by,) if by else ()

    def groups(*columns: str, **how: Any) -> Iterator[tuple[Aggregate, Row, Row]]:
        wanted = Aggregation((*keys, *columns), condition=completed(by), **how)
        for key, numbers in facts.aggregate(question, wanted, among).items():
            yield found[key[0] if by else None], key[len(keys) :], numbers

    for each, _, percentiles in groups(numbers=_PERCENTILES, combine=None):
        each.score_percentiles, each.first_response_percentiles = (
            found or _NO_PERCENTILES for found in percentiles
        )
    for each, (trend, resolution), (count,) in groups("sentiment_trend", "resolution"):
        each.sentiment_trends[trend] += count
        each.resolutions[resolution] += count
    scores = groups("score_layout_id", numbers=score_means.numbers(facts.score_count))
    for each, (layout_id,), numbers in sorted(scores, key=lambda group: group[1][0] or 0):
        each.score_means.add(facts.layouts.get(layout_id, []), numbers)


def _aggregate(evaluations: int, positive: int, negative: int, *totals: Decimal | int) -> Aggregate:
    counts = (int(count) for count in totals[1::2])
    named = zip(MEASURES, zip(totals[::2], counts, strict=True), strict=True)
    return Aggregate(evaluations, positive, negative, dict(named))


def last_completed(
    facts: FactReader, question: Question, by: str, among: Mapping[str, Sequence[str]]
) -> dict[str, datetime]:
    """Return when the last evaluation of each group was completed."""
    last = ("max(coalesce(completed_at, created_at))",)
    wanted = Aggregation((by,), last, completed(by), combine=max)
    return {
        key: moment.replace(tzinfo=UTC)
        for (key,), (moment,) in facts.aggregate(question, wanted, among).items()
    }
