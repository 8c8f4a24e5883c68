"""Reading facts: many at once, as columns, from the narrow table alone."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, literal, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.analytics import codes, facts, figures
from app.analytics.figures import CHANNELS, Columns, Numbers
from app.analytics.models import Fact
from app.analytics.periods import Period

# So much of a long period is read at once: memory stays bounded.
_SPAN = timedelta(days=32)
GROUPS: dict[str, InstrumentedAttribute[Any]] = {
    "executive": Fact.executive,
    "campaign": Fact.campaign,
    "call_center": Fact.call_center,
}


@dataclass(frozen=True, slots=True)
class Question:
    """Which facts are meant: a period and filters, by the names that lists have for them."""

    period: Period
    engagement_id: str | None = None
    campaign_id: str | None = None
    call_center_id: str | None = None
    executive_id: str | None = None
    scorecard_id: str | None = None
    channel: tuple[str, ...] = field(default=())

    def former(self) -> "Question":
        """Ask the same of the period before."""
        return replace(self, period=self.period.before())

    def ids(self) -> dict[str, str]:
        """Return the ids that are filtered by, by their column in the facts."""
        named = {
            "engagement": self.engagement_id,
            "campaign": self.campaign_id,
            "call_center": self.call_center_id,
            "executive": self.executive_id,
            "scorecard": self.scorecard_id,
        }
        return {name: key for name, key in named.items() if key is not None}


def columns(session: Session, question: Question) -> Columns:
    """Return the figures of all facts that are meant, whatever their status."""
    numbers = array("I")
    for where in _spans(session, question):
        data = session.scalar(select(_joined(session, Fact.figures)).where(*where))
        numbers.extend(figures.taken(_bytes(data), "I"))
    return Columns(numbers)


def columns_by(session: Session, question: Question, group: str) -> dict[int, Columns]:
    """Return the figures by the code of what the facts belong to; those without it are left out."""
    column = GROUPS[group]
    found: dict[int, Numbers] = {}
    for where in _spans(session, question):
        statement = select(column, _joined(session, Fact.figures)).where(
            *where, column.is_not(None)
        )
        for code, data in session.execute(statement.group_by(column)):
            found.setdefault(code, array("I")).extend(figures.taken(_bytes(data), "I"))
    return {code: Columns(numbers) for code, numbers in found.items()}


def shares(session: Session, question: Question) -> dict[int, Numbers]:
    """Return the numbers of the shares of all facts that are meant, by their layout."""
    found: dict[int, Numbers] = {}
    for where in _spans(session, question):
        statement = select(Fact.layout, _joined(session, Fact.shares)).where(
            *where, Fact.layout.is_not(None)
        )
        for layout, data in session.execute(statement.group_by(Fact.layout)):
            found.setdefault(layout, array("H")).extend(figures.taken(_bytes(data), "H"))
    return found


def shares_by(
    session: Session, question: Question, group: str, members: Collection[int]
) -> dict[int, dict[int, Numbers]]:
    """Return the same for each of some members of a group, by their code."""
    column = GROUPS[group]
    found: dict[int, dict[int, Numbers]] = {code: {} for code in members}
    for where in _spans(session, question):
        statement = select(column, Fact.layout, _joined(session, Fact.shares)).where(
            *where, column.in_(members), Fact.layout.is_not(None)
        )
        for code, layout, data in session.execute(statement.group_by(column, Fact.layout)):
            numbers = found[code].setdefault(layout, array("H"))
            numbers.extend(figures.taken(_bytes(data), "H"))
    return found


def topics(session: Session, question: Question) -> Counter[str]:
    """Count the topics of the facts that are meant."""
    counted: Counter[str] = Counter()
    joined = _text_joined(session, Fact.topics)
    for where in _spans(session, question):
        data = session.scalar(select(joined).where(*where, Fact.topics != ""))
        counted.update((data or "").split("\n") if data else ())
    return counted


def rows(session: Session, question: Question, *wanted: Any) -> Iterator[Any]:
    """Yield columns of each fact that is meant, for what cannot be read in one piece."""
    for where in _spans(session, question):
        statement: Select[Any] = select(*wanted).where(*where)
        yield from session.execute(statement.execution_options(yield_per=5000))


def _spans(session: Session, question: Question) -> Iterator[list[ColumnElement[bool]]]:
    chosen = [
        getattr(Fact, name) == codes.code_of(session, key) for name, key in question.ids().items()
    ]
    if question.channel:
        channels = [CHANNELS.index(each) for each in question.channel]
        chosen.append(Fact.channel.in_(channels))
    begin, end = question.period.start, question.period.end
    while begin < end:
        until = min(begin + _SPAN, end)
        at = Fact.at >= facts.microseconds(begin), Fact.at < facts.microseconds(until)
        yield [*at, *chosen]
        begin = until


def _joined(session: Session, column: InstrumentedAttribute[bytes]) -> ColumnElement[Any]:
    if session.get_bind().dialect.name == "sqlite":
        return func.group_concat(func.hex(column), "")
    return func.string_agg(func.encode(column, "hex"), literal(""))


def _text_joined(session: Session, column: InstrumentedAttribute[str]) -> ColumnElement[Any]:
    sqlite = session.get_bind().dialect.name == "sqlite"
    return (func.group_concat if sqlite else func.string_agg)(column, "\n")


def _bytes(joined: str | None) -> bytes:
    return bytes.fromhex(joined or "")
