"""Aggregates: counts and sums over the completed evaluations of a group, in SQL for DuckDB."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from app.analytics.engine.database import Row, score_column
from app.analytics.engine.facts import CRITERION, METRICS, Columns
from app.analytics.engine.reader import Aggregation, FactReader
from app.analytics.engine.selection import Selection


@dataclass(slots=True)
class ScoreMean:
    """The mean score, 0 to 100, of one criterion or section over `count` evaluations."""

    key: str
    title: str
    section: str
    total: Decimal = Decimal()
    count: int = 0

    @property
    def mean(self) -> float:
        return float(self.total / self.count)


@dataclass(slots=True)
class ScoreMeans:
    """Mean scores by key; the same key in two layouts is the same criterion or section."""

    _criteria: dict[str, ScoreMean] = field(default_factory=dict)
    _sections: dict[str, ScoreMean] = field(default_factory=dict)

    def add(self, columns: Columns, numbers: Sequence[Decimal | int]) -> None:
        """Add the sum and the count of each column of a layout, in the order of `score_numbers`."""
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        for column, (total, count) in zip(columns, pairs, strict=False):
            known = self._criteria if column["kind"] == CRITERION else self._sections
            mean = known.setdefault(
                column["key"], ScoreMean(column["key"], column["title"], column["section"])
            )
            mean.total += total
            mean.count += int(count)

    @property
    def sections(self) -> list[ScoreMean]:
        """The sections with a score, in the order of the scorecards."""
        return [mean for mean in self._sections.values() if mean.count]

    def weakest(self, *, at_least: int, limit: int) -> list[ScoreMean]:
        """Return the criteria with the lowest means among those with enough evaluations."""
        frequent = [mean for mean in self._criteria.values() if mean.count >= at_least]
        return sorted(frequent, key=lambda item: (item.mean, item.key))[:limit]

    def strongest(self, *, at_least: int, limit: int = 1) -> list[ScoreMean]:
        """Return the criteria with the highest means among those with enough evaluations."""
        frequent = [mean for mean in self._criteria.values() if mean.count >= at_least]
        return sorted(frequent, key=lambda item: (-item.mean, item.key))[:limit]


def score_numbers(score_count: int) -> tuple[str, ...]:
    columns = [score_column(place) for place in range(score_count)]
    return tuple(
        number
        for column in columns
        for number in (f"coalesce(sum({column}), 0)", f"count({column})")
    )


# An evaluation without a verdict has a score, but counts in no mean score and no rank.
_RANKED_SCORE = "CASE WHEN passed IS NOT NULL THEN score END"
# SQL over the columns of a part.
_MEASURES: Mapping[str, str] = {
    "score": _RANKED_SCORE,
    "passed": "passed::INTEGER",
    "auto_failed": "auto_failed::INTEGER",
    **{
        name: name
        for name in ("compliance_score", "customer_sentiment", "duration_seconds", *METRICS)
    },
}
# The bound of positive and negative sentiment, as in the scorecards' sentiment trend.
_NEUTRAL = 0.1


def sum_and_count(name: str) -> tuple[str, str]:
    """Return the SQL for the sum of a measure, and for the number of facts that have it."""
    return f"coalesce(sum({_MEASURES[name]}), 0)", f"count({_MEASURES[name]})"


_NUMBERS = (
    "count(*)",
    f"count(*) FILTER (customer_sentiment >= {_NEUTRAL})",
    f"count(*) FILTER (customer_sentiment <= -{_NEUTRAL})",
    *(number for name in _MEASURES for number in sum_and_count(name)),
)
# Null where the judge cannot tell.
_SENTIMENT_TREND = "coalesce(sentiment_trend, 'not_calculated')"
_RESOLUTION = "coalesce(resolution, 'unknown')"
# NULL where no fact has a first response.
_FIRST_RESPONSES = ("quantile_cont(first_response_seconds::DOUBLE, [0.5, 0.9])",)


@dataclass(slots=True)
class Aggregate:
    """Counts and sums over completed evaluations.

    `totals` has the sum of each measure and the number of evaluations that have it. The fields after
    `totals` are set by `Groups.add_details`.
    """

    evaluations: int = 0
    positive: int = 0
    negative: int = 0
    totals: dict[str, tuple[Decimal | int, int]] = field(
        default_factory=lambda: dict.fromkeys(_MEASURES, (0, 0))
    )
    scores: Counter[int] = field(default_factory=Counter)
    first_response_median: float | None = None
    first_response_p90: float | None = None
    sentiment_trends: Counter[str] = field(default_factory=Counter)
    resolutions: Counter[str] = field(default_factory=Counter)
    score_means: ScoreMeans = field(default_factory=ScoreMeans)

    @property
    def with_verdict(self) -> int:
        """The number of evaluations with a verdict: passed or failed."""
        return self.totals["passed"][1]

    def add(self, other: "Aggregate") -> None:
        """Add the counts and sums of another aggregate, without its details."""
        self.evaluations += other.evaluations
        self.positive += other.positive
        self.negative += other.negative
        for name, (total, count) in other.totals.items():
            before, known = self.totals[name]
            self.totals[name] = (before + total, known + count)


def completed(by: str | None) -> str:
    """Return the SQL condition for completed evaluations that belong to a group."""
    return "status = 'completed'" + (f" AND {by} IS NOT NULL" if by else "")


class Groups:
    """The completed evaluations of a selection, grouped by a column, or all under the key None.

    Args:
        among: the values of columns, by their names, that alone are read.
    """

    def __init__(
        self,
        facts: FactReader,
        selection: Selection,
        by: str | None = None,
        among: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._facts, self._selection, self._by, self._among = facts, selection, by, among

    def aggregates(self) -> dict[Any, Aggregate]:
        return {key: _aggregate(*numbers) for key, _, numbers in self._rows(numbers=_NUMBERS)}

    def add_details(self, aggregates: Mapping[Any, Aggregate]) -> None:
        """Set the details of these aggregates, which must include every group."""
        for key, (score,), (count,) in self._rows(_RANKED_SCORE):
            if score is not None:
                aggregates[key].scores[score] = count
        for key, _, (percentiles,) in self._rows(numbers=_FIRST_RESPONSES, combine=None):
            median, p90 = percentiles or (None, None)
            aggregates[key].first_response_median, aggregates[key].first_response_p90 = median, p90
        for key, (trend, resolution), (count,) in self._rows(_SENTIMENT_TREND, _RESOLUTION):
            aggregates[key].sentiment_trends[trend] += count
            aggregates[key].resolutions[resolution] += count
        scores = self._rows("score_layout_id", numbers=score_numbers(self._facts.score_count))
        for key, (layout_id,), numbers in sorted(scores, key=lambda row: row[1][0] or 0):
            aggregates[key].score_means.add(self._facts.layouts.get(layout_id, []), numbers)

    def last_completed(self) -> dict[Any, datetime]:
        last = ("max(coalesce(completed_at, created_at))",)
        rows = self._rows(numbers=last, combine=max)
        return {key: moment.replace(tzinfo=UTC) for key, _, (moment,) in rows}

    def _rows(self, *columns: str, **how: Any) -> Iterator[tuple[Any, Row, Row]]:
        keys = (self._by,) if self._by else ()
        aggregation = Aggregation((*keys, *columns), condition=completed(self._by), **how)
        rows = self._facts.aggregate(self._selection, aggregation, self._among)
        for values, numbers in rows.items():
            yield values[0] if keys else None, values[len(keys) :], numbers


def _aggregate(evaluations: int, positive: int, negative: int, *totals: Decimal | int) -> Aggregate:
    counts = (int(count) for count in totals[1::2])
    named = zip(_MEASURES, zip(totals[::2], counts, strict=True), strict=True)
    return Aggregate(evaluations, positive, negative, dict(named))
