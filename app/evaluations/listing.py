"""List of evaluations: its filters, each answered from an index."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, literal_column, select
from sqlalchemy.orm import Session

from app.core.database.counters import add_at_commit
from app.core.database.filters import (
    Condition,
    Filters,
    at_least,
    at_most,
    before,
    equal,
    language,
    one_of,
)
from app.core.database.paging import AnyColumn, Page, PageRequest, order_of
from app.core.database.session import Reader, connection_of
from app.core.principal import current_teams
from app.evaluations.enums import ByDay, ReviewStatus
from app.evaluations.models import (
    Evaluation,
    EvaluationReviewer,
    EvaluationTopic,
    EvaluationTotal,
    SearchText,
    SpokenWords,
)
from app.evaluations.search import index
from app.evaluations.search.turns import matching_turns

# Core columns, not attributes: a page of rows costs half as much without the ORM.
_EVALUATION = Evaluation.__table__.c
_TOPICS = EvaluationTopic.__table__.c
_REVIEWERS = EvaluationReviewer.__table__.c
_TEXTS = SearchText.__table__.c
_TOTALS = EvaluationTotal.__table__.c
_TOTAL = select(_TOTALS.quantity).where(_TOTALS.kind == bindparam("kind"))
_ALL, _CURRENT = "all", "current"
# Evaluations whose words a search looks at one by one.
_MOST_SEARCHED = 10_000
_HIDDEN = ("summary", "transcript_id", "context", "re_evaluation_id")
# Null as long as there is no score that a verdict could follow from.
HAS_VERDICT = case((_EVALUATION.score.is_not(None), _EVALUATION.passed.is_not(None))).label(
    "has_verdict"
)
COLUMNS = [*(column for column in _EVALUATION if column.key not in _HIDDEN), HAS_VERDICT]
_ROWS = select(*COLUMNS)
_FilterValue: TypeAlias = str | float | bool | datetime | Sequence[str] | Select[str]
_SORTABLE: dict[str, AnyColumn] = {
    name: _EVALUATION[name]
    for name in (
        *("conversation_at", "created_at", "completed_at", "started_at"),
        *("score", "confidence", "duration_seconds"),
    )
}


def _is(column: ColumnElement[Any]) -> Condition:
    return lambda value: and_(column) if value else ~column


def _review_status(values: Sequence[str]) -> ColumnElement[bool]:
    """Match review statuses, in a form that the partial index of reviewed evaluations fits."""
    condition = one_of(_EVALUATION.review_status)(values)
    if ReviewStatus.NONE in values:
        return condition
    return and_(condition, _EVALUATION.review_status != literal_column("'none'"))


def _has_verdict(value: bool) -> ColumnElement[bool]:
    if value:
        return _EVALUATION.passed.is_not(None)
    return and_(_EVALUATION.passed.is_(None), _EVALUATION.score.is_not(None))


def _topic(topic: str) -> ColumnElement[bool]:
    tagged = select(_TOPICS.evaluation_id).where(_TOPICS.topic == topic)
    return _EVALUATION.id.in_(tagged)


def _reviewed_by(reviewer: str) -> ColumnElement[bool]:
    started = select(_REVIEWERS.evaluation_id).where(_REVIEWERS.reviewer == reviewer.casefold())
    return _EVALUATION.id.in_(started)


def _q(words: str) -> ColumnElement[bool]:
    """Match the evaluations whose search text contains every word."""
    matching = select(_TEXTS.evaluation_id).where(
        *(_TEXTS.text.contains(word, autoescape=True) for word in normalised(words).split())
    )
    return _EVALUATION.id.in_(matching)


_FILTERS: Filters = {
    "ids": one_of(_EVALUATION.id),
    "engagement_id": equal(_EVALUATION.engagement_id),
    "campaign_id": equal(_EVALUATION.campaign_id),
    "call_center_id": equal(_EVALUATION.call_center_id),
    "executive_id": equal(_EVALUATION.executive_id),
    "source_type": one_of(_EVALUATION.source_type),
    "source_id": equal(_EVALUATION.source_id),
    "except_ids": _EVALUATION.id.not_in,
    "channel": one_of(_EVALUATION.channel),
    "status": one_of(_EVALUATION.status),
    "review_status": _review_status,
    "reviewed_by": _reviewed_by,
    "scorecard_id": equal(_EVALUATION.scorecard_id),
    "scorecard_version": equal(_EVALUATION.scorecard_version),
    "min_score": at_least(_EVALUATION.score),
    "max_score": at_most(_EVALUATION.score),
    "max_confidence": at_most(_EVALUATION.confidence),
    "passed": _is(_EVALUATION.passed),
    "has_verdict": _has_verdict,
    "auto_failed": _is(_EVALUATION.auto_failed),
    "agent_unnamed": _is(_EVALUATION.agent_unnamed),
    "sentiment_trend": one_of(_EVALUATION.sentiment_trend),
    "resolution": one_of(_EVALUATION.resolution),
    "topic": _topic,
    "language": language(_EVALUATION.language),
    "q": _q,
    "said": lambda asked: index.source_says(_EVALUATION.source_id, asked),
}
_BY_DAY = "by_day"
# The columns that a period may bound.
MOMENTS: Mapping[str, ColumnElement[Any]] = {
    ByDay.CONVERSATION: _EVALUATION.conversation_at,
    ByDay.JUDGEMENT: _EVALUATION.created_at,
}
# Selective filters with an index of their own.
_SELECTIVE = frozenset(
    (
        *("ids", "engagement_id", "campaign_id", "call_center_id", "executive_id", "source_id"),
        *("reviewed_by", "topic", "q", "said"),
    )
)


def normalised(text: str) -> str:
    """Normalise a text for search: case folded, single spaces."""
    return " ".join(text.casefold().split())


def list_page(
    session: Reader, request: PageRequest, *, current: bool = True, **filters: _FilterValue
) -> Page[Any]:
    """List evaluations as mappings, newest first by default.

    Args:
        current: only the current revision of each source; else every revision.
        filters: the names of the API in snake_case, lists where a comma list is taken;
            `start` and `end` bound the column of `by_day` (see `MOMENTS`), and `except_ids`
            selects those that are left out.
    """
    said = str(filters.get("said", ""))
    if said and index.is_frequent(session, said):
        return _searched(session, request, said, current=current, filters=filters)
    where = conditions(current=current, **filters)
    if filters.keys() - {_BY_DAY}:
        counted = select(func.count()).select_from(Evaluation.__table__).where(*where)
        total_count = session.scalar(counted) or 0
    else:
        total_count = count_all(session, current=current)
    rows: Sequence[Any] = []
    if request.page_size and request.offset < total_count:
        rows = _rows_of(session, where, request, total_count)
        if said:
            rows = _with_turns(session, rows, said)
    return Page(rows, request.page, request.page_size, total_count)


def _searched(
    session: Reader,
    request: PageRequest,
    said: str,
    *,
    current: bool,
    filters: Mapping[str, _FilterValue],
) -> Page[Any]:
    """List what was said often: of the first evaluations of the list, those whose words match.

    So many matches would take seconds to join with the other filters; of these rows, each is looked at.
    """
    others = {name: value for name, value in filters.items() if name != "said"}
    order = _order(request)
    first = (
        select(_EVALUATION.id, _EVALUATION.source_id)
        .where(*conditions(current=current, **others))
        .order_by(*order)
        .limit(_MOST_SEARCHED)
        .subquery()
    )
    looked_at = select(first.c.id, index.words_say(session, said)).outerjoin_from(
        first, SpokenWords, SpokenWords.source_id == first.c.source_id
    )
    rows = session.execute(looked_at).all()
    ids = [row_id for row_id, says in rows if says]
    shown = ids[request.offset : request.offset + request.page_size]
    items = session.execute(_ROWS.where(_EVALUATION.id.in_(shown)).order_by(*order)).mappings()
    searched = len(rows) if len(rows) == _MOST_SEARCHED else None
    return Page(
        _with_turns(session, items.all(), said), request.page, request.page_size, len(ids), searched
    )


def _with_turns(session: Reader, rows: Sequence[Any], asked: str) -> list[dict[str, Any]]:
    """Add the turn in which it was said to each row."""
    turns = matching_turns(session, [row["source_id"] for row in rows], asked)
    return [{**row, "said": turns.get(row["source_id"])} for row in rows]


def subjects(session: Session, evaluation_ids: Sequence[str]) -> dict[str, str]:
    """Map evaluations to what their conversations were about; without those of which it is unknown."""
    rows = session.execute(
        select(_EVALUATION.id, _EVALUATION.summary).where(_EVALUATION.id.in_(evaluation_ids))
    )
    about = {row.id: (row.summary or {}).get("issue") for row in rows}
    return {key: issue for key, issue in about.items() if issue}


def count_by_scorecard(session: Session, **filters: _FilterValue) -> dict[str, dict[int, int]]:
    """Count the current evaluations that match the filters of `list_page`, by scorecard version."""
    version = (_EVALUATION.scorecard_id, _EVALUATION.scorecard_version)
    counted = select(*version, func.count()).where(*conditions(current=True, **filters))
    counts: dict[str, dict[int, int]] = {}
    for scorecard_id, number, count in session.execute(counted.group_by(*version)):
        counts.setdefault(scorecard_id, {})[number] = count
    return counts


def conditions(*, current: bool = True, **filters: _FilterValue) -> list[ColumnElement[bool]]:
    """Return the conditions of a list; the arguments are those of `list_page`."""
    moment = MOMENTS[str(filters.get(_BY_DAY, ByDay.CONVERSATION))]
    known = {**_FILTERS, "start": at_least(moment), "end": before(moment)}
    where = [known[name](value) for name, value in filters.items() if name != _BY_DAY]
    if current:
        where.append(_current(selective=_are_selective(filters)))
    return where


def _are_selective(filters: Mapping[str, Any]) -> bool:
    """Return whether one of these filters, or the caller's teams, has an index that leaves few rows."""
    statuses = filters.get("review_status", (ReviewStatus.NONE,))
    return (
        current_teams() is not None
        or ReviewStatus.NONE not in statuses
        or filters.get("auto_failed") is True
        or filters.get("agent_unnamed") is True
        or not _SELECTIVE.isdisjoint(filters)
    )


def _current(*, selective: bool) -> ColumnElement[bool]:
    """Restrict to current revisions; with a selective filter in a form that uses no index.

    Without statistics SQLite takes every equality for equally selective, and nearly every row is
    current.
    """
    if selective:
        return _EVALUATION.is_current.is_not(False)
    return and_(_EVALUATION.is_current)


def count_all(session: Reader, *, current: bool = False) -> int:
    """Return how many evaluations there are, or how many of them are current; reads one row."""
    return session.scalar(_TOTAL, {"kind": _CURRENT if current else _ALL}) or 0


def count_opened(session: Session, number: int, *, first_of_source: int) -> None:
    """Update the totals: one counts every revision, the other every source once."""
    add_at_commit(session, EvaluationTotal, _ALL, quantity=number)
    add_at_commit(session, EvaluationTotal, _CURRENT, quantity=first_of_source)


def _rows_of(
    session: Reader, where: list[ColumnElement[bool]], request: PageRequest, total_count: int
) -> Sequence[Any]:
    """Return one page, ordered by one column and by id, nulls last.

    PostgreSQL's indexes have the nulls at the wrong end of a descending order. Most pages have none.
    """
    column = _SORTABLE[request.sort.lstrip("-")]
    descending = request.sort.startswith("-")
    size = min(request.page_size, total_count - request.offset)
    is_postgresql = connection_of(session).dialect.name == "postgresql"
    if is_postgresql and descending and getattr(column, "nullable", False):
        latest = [column.desc(), _EVALUATION.id.desc()]
        ids = select(_EVALUATION.id).where(*where, column.is_not(None)).order_by(*latest)
        rows = _with_ids(session, ids.limit(size).offset(request.offset), latest)
        if len(rows) == size:
            return rows
    # The ids are found from the nearer end.
    behind = total_count - request.offset - size
    order, reverse = _order(request), _order(request, backwards=True)
    nearer = reverse if behind < request.offset else order
    ids = select(_EVALUATION.id).where(*where).order_by(*nearer)
    return _with_ids(session, ids.limit(size).offset(min(request.offset, behind)), order)


def _with_ids(
    session: Reader, ids: Select[Any], order: Sequence[ColumnElement[Any]]
) -> Sequence[Any]:
    """Return the rows of these ids; only they are read, after the ids were found in an index."""
    statement = _ROWS.where(_EVALUATION.id.in_(ids)).order_by(*order)
    return session.execute(statement).mappings().all()


def _order(request: PageRequest, *, backwards: bool = False) -> list[ColumnElement[Any]]:
    column = _SORTABLE[request.sort.lstrip("-")]
    descending = request.sort.startswith("-")
    return order_of(column, _EVALUATION.id, descending=descending, backwards=backwards)
