"""Mean scores of criteria and sections, over facts with different score layouts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from app.analytics.engine.layouts import CRITERION, Columns
from app.analytics.engine.loading import score_column


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
        """The mean score."""
        return float(self.total / self.count)


@dataclass(slots=True)
class ScoreMeans:
    """Mean scores by key; the same key in two layouts is the same criterion or section."""

    _criteria: dict[str, ScoreMean] = field(default_factory=dict)
    _sections: dict[str, ScoreMean] = field(default_factory=dict)

    def add(self, columns: Columns, numbers: Sequence[Decimal | int]) -> None:
        """Add the sum and the count of each column of a layout, in the order of `numbers`."""
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

    def strongest(self, *, at_least: int) -> ScoreMean | None:
        """Return the criterion with the highest mean among those with enough evaluations."""
        frequent = [mean for mean in self._criteria.values() if mean.count >= at_least]
        return min(frequent, key=lambda item: (-item.mean, item.key), default=None)


def numbers(score_count: int) -> tuple[str, ...]:
    """Return the SQL for the sum and the count of every score."""
    columns = [score_column(place) for place in range(score_count)]
    return tuple(
        number
        for column in columns
        for number in (f"coalesce(sum({column}), 0)", f"count({column})")
    )
