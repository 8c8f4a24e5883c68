"""Folding: summing the facts of spans into cells, beside the writers and without holding them up.

Spans are first taken, then read in a transaction of their own; the cells are kept of those whose
facts nobody has written meanwhile. It may be done at any time, twice, or not at all: answers are
the same, only slower without it.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

from sqlalchemy import bindparam, delete, func, insert, select, text, update
from sqlalchemy.orm import Session

from app.analytics import codes, facts, spans
from app.analytics.gathering import Gathering, Key
from app.analytics.models import Fact, FactCell, FactSpan
from app.analytics.spans import LEVELS, READY, STALE
from app.analytics.tallies import Detail, Tally
from app.analytics.views import CHANNEL, View, fact_column
from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.database.upserts import upsert_into

# A span is folded so long after its end: the clocks of processes differ.
_LATE = timedelta(minutes=1)
# A view has cells where there are so many times fewer of them than facts.
_WORTH = 3
# Fewer facts are read as quickly as cells.
_FEW = 24
# So many spans of each level are folded at once: their cells are written in some milliseconds.
_AT_ONCE = (48, 1, 1, 1)

# How many facts of a span agree in all that is told apart.
_FULL = {name: place for place, name in enumerate(View.FULL.names)}
_ALIKE = (
    select(*(fact_column(name) for name in _FULL), func.count())
    .where(Fact.at >= bindparam("begin"), Fact.at < bindparam("end"))
    .group_by(*(fact_column(name) for name in _FULL))
)
_OF_TOPICS = (
    select(Fact.topics, Fact.channel)
    .where(Fact.at >= bindparam("begin"), Fact.at < bindparam("end"), Fact.topics != "")
    .distinct()
)

Summed: TypeAlias = dict[View, dict[Key, Tally]]


def fold(db: Database, *, within_s: float) -> int:
    """Fold the spans that are over and stale, short ones first; return how many.

    No more are begun when the time is over.
    """
    until, folded = time.monotonic() + within_s, 0
    for level in range(len(LEVELS)):
        while time.monotonic() < until:
            with db.writing() as session:
                _note_new(session, level)
                ticket, taken = take(session, level)
            if not taken:
                break
            folded += _fold(db, ticket, taken)
    return folded


def take(session: Session, level: int) -> tuple[int, Sequence[int]]:
    """Take stale spans by a ticket; also those that somebody took and never kept."""
    if session.get_bind().dialect.name == "postgresql":
        # Who has written facts and not committed is waited for: from here on writers see the ticket.
        session.execute(text(f"LOCK TABLE {Fact.__tablename__} IN SHARE MODE"))
    taken = session.scalars(
        select(FactSpan.id)
        .where(FactSpan.state > READY, FactSpan.id % len(LEVELS) == level)
        .order_by(FactSpan.id.desc())
        .limit(_AT_ONCE[level])
    ).all()
    ticket = STALE + 1 + secrets.randbelow(2**31)
    session.execute(update(FactSpan).where(FactSpan.id.in_(taken)).values(state=ticket))
    return ticket, taken


def sum_up(session: Session, span: int, *, from_facts: bool = False) -> Summed:
    """Tally a span for each view that is worth its cells; also of cells of the spans inside it."""
    start, end = spans.range_of(span)
    alike = session.execute(_ALIKE, {"begin": start, "end": end}).all()
    number = sum(row[-1] for row in alike)
    if number < _FEW:
        return {}
    found: Summed = {}
    apart = _told_apart(session, span, alike)
    for view in View:
        if apart[view] * _WORTH <= number:
            details = () if view is View.TOPIC else tuple(Detail)
            gathering = Gathering(session, view.names, {}, details)
            found[view] = gathering.gather(view, [spans.range_of(span)], from_facts=from_facts)
    return found


def _told_apart(session: Session, span: int, rows: Sequence[Any]) -> dict[View, int]:
    """Count what each view would tell apart of a span, of which there are these rows of `_ALIKE`."""
    start, end = spans.range_of(span)
    apart: dict[View, int] = {
        view: len({tuple(row[_FULL[name]] for name in view.names) for row in rows})
        for view in View
        if view is not View.TOPIC
    }
    alike = session.execute(_OF_TOPICS, {"begin": start, "end": end})
    apart[View.TOPIC] = len({(each, row[1]) for row in alike for each in row[0].split("\n")})
    return apart


def keep(session: Session, ticket: int, summed: Mapping[int, Summed]) -> int:
    """Replace the cells of spans, but for those of which facts were written since they were taken.

    Returns:
        Of how many they are kept.
    """
    kept = session.scalars(
        update(FactSpan)
        .where(FactSpan.id.in_(summed), FactSpan.state == ticket)
        .values(state=READY, views=0)
        .returning(FactSpan.id)
    ).all()
    session.execute(delete(FactCell).where(FactCell.view.in_(list(View)), FactCell.span.in_(kept)))
    for span in kept:
        if own := summed[span]:
            rows = cells(span, own, codes.codes_of(session, topics_of(own)))
            session.execute(insert(FactCell), rows)
            views = sum(1 << view for view in own)
            session.execute(update(FactSpan).where(FactSpan.id == span).values(views=views))
    return len(kept)


def cells(span: int, summed: Summed, topics: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the rows of the cells of a span.

    Args:
        topics: the codes of all topics that were told apart.
    """
    rows = []
    for view, tallies in summed.items():
        for key, tally in tallies.items():
            told = dict(zip(view.names, key[1:], strict=True))
            ids = {name: told.get(name) if view is View.FULL else None for name in View.FULL.names}
            member = None if view in (View.OVERALL, View.FULL) else key[1]
            rows.append(
                {
                    "view": view,
                    "span": span,
                    **ids,
                    CHANNEL: told[CHANNEL],
                    "member": topics[key[1]] if view is View.TOPIC else member,
                    **tally.stored(),
                }
            )
    return rows


def topics_of(summed: Summed) -> set[str]:
    """Return the topics that are told apart."""
    return {key[1] for key in summed.get(View.TOPIC, ())}


def stale_count(session: Session) -> int:
    """Count the spans that are still to be folded, of those that are known."""
    stale = select(func.count()).where(FactSpan.state != READY)
    return session.scalar(stale) or 0


def _note_new(session: Session, level: int) -> None:
    """Make rows for the spans that have ended since the last one that has a row."""
    end = spans.number_at(level, facts.microseconds(utc_now() - _LATE))
    last = session.scalar(
        select(FactSpan.id)
        .where(FactSpan.id < spans.id_of(level, end), FactSpan.id % len(LEVELS) == level)
        .order_by(FactSpan.id.desc())
        .limit(1)
    )
    if last is not None:
        first = spans.number_of(last) + 1
    else:
        oldest = session.scalar(select(func.min(Fact.at)))
        first = end if oldest is None else spans.number_at(level, oldest)
    rows = [{"id": spans.id_of(level, number), "state": STALE} for number in range(first, end)]
    if rows:
        session.execute(upsert_into(session, FactSpan).on_conflict_do_nothing(), rows)


def _fold(db: Database, ticket: int, taken: Sequence[int]) -> int:
    with db.reading() as session:
        summed = {span: sum_up(session, span) for span in taken}
    with db.writing() as session:
        return keep(session, ticket, summed)
