"""Charts as the macro draws them: marks at places of a frame, and the table of their numbers."""

from dataclasses import dataclass

from app.dashboard.charts.scales import Frame


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    title: str
    href: str | None


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    title: str
    href: str | None
    is_hollow: bool = False


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """Dots, and the path through them if there is one; `number` counts from 1 and chooses colour and dashes."""

    number: int
    name: str
    path: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval around a dot, in a row of its own."""

    name: str
    low: float
    high: float
    dot: Dot


@dataclass(frozen=True, slots=True)
class DashedLine:
    """A line from one place to another, such as the pass line."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str = ""


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


@dataclass(frozen=True, slots=True)
class Chart:
    """All that the macro draws; bars behind lines show counts.

    Attributes:
        has_steps: whether the rows of the table are steps from left to right, which a crosshair reads.
        tallest_bar: the count of the tallest bar behind lines; 0 without any.
    """

    frame: Frame
    table: DataTable
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...] = ()
    bars: tuple[Bar, ...] = ()
    lines: tuple[DrawnLine, ...] = ()
    intervals: tuple[Interval, ...] = ()
    mark: DashedLine | None = None
    has_steps: bool = False
    tallest_bar: int = 0
