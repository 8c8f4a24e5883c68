"""Tables under charts: the numbers that a chart is drawn from, with the same links."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, with a link to the conversations that it counts."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class DataTable:
    """The head and the rows of a table; the first cell of a row names it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
