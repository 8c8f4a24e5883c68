"""Tables with cells in five shades: heat maps, and counts of pairs of answers."""

from collections.abc import Sequence
from dataclasses import dataclass

SHADES = 5


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A text over one of the shades 1 to 5; 0 is not a shade."""

    text: str
    shade: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class ConfusionTable:
    """Counts of pairs: rows are what one side says, columns what the other says."""

    labels: tuple[str, ...]
    rows: tuple[tuple[HeatCell, ...], ...]


def shade_of(value: float | None, highest: float) -> int:
    """Return the shade of a value between 0 and `highest`; 0 without a value."""
    if value is None:
        return 0
    return min(SHADES, max(1, 1 + int(value / highest * SHADES)))


def confusion_table(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> ConfusionTable:
    """Shade each count by its share of its row; cells on the diagonal agree."""
    rows = []
    for label, row in zip(labels, counts, strict=True):
        total = sum(row)
        rows.append(
            tuple(
                HeatCell(
                    text=str(count),
                    shade=shade_of(count, total) if count else 0,
                    title=f"{label} against {other}: {count} of {total}",
                )
                for other, count in zip(labels, row, strict=True)
            )
        )
    return ConfusionTable(tuple(labels), tuple(rows))
