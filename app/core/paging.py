"""Pages of a list: offset paging with an exact count (contract B1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, ColumnElement, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

Item = TypeVar("Item")
# Columns of the table itself are cheaper than those of its class: no mapper stands in between.
AnyColumn = Column[Any] | InstrumentedAttribute[Any]


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page and the size of the whole."""

    items: Sequence[Item]
    page: int
    page_size: int
    total_count: int

    @property
    def total_pages(self) -> int:
        """How many pages the whole list has."""
        return -(-self.total_count // self.page_size)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is asked for; `sort` is a column name, with a minus for descending."""

    page: int = 1
    page_size: int = 25
    sort: str = "-created_at"


def select_page(
    session: Session,
    statement: Select[*tuple[Any, ...]],
    request: PageRequest,
    *,
    sortable: Mapping[str, AnyColumn],
    tail: AnyColumn,
    total_count: int | None = None,
) -> Page[Any]:
    """Run a filtered select for one page, ordered by one column and by `tail`, a unique one.

    What has no value in that column comes last, whichever the direction. Rows come as mappings of
    the selected columns. Pass `total_count` where a counter knows it.
    """
    if total_count is None:
        inner = statement.with_only_columns(tail).order_by(None).subquery()
        total_count = session.scalar(select(func.count()).select_from(inner)) or 0
    offset = (request.page - 1) * request.page_size
    rows: Sequence[Any] = []
    if offset < total_count:
        column = sortable[request.sort.lstrip("-")]
        size = min(request.page_size, total_count - offset)
        behind = total_count - offset - size
        # What is nearer to the end is counted from there, so that the last page costs one page.
        backwards = behind < offset
        order = _order(column, tail, request.sort.startswith("-"), backwards=backwards)
        ordered = statement.order_by(*order).limit(size).offset(min(offset, behind))
        found = session.execute(ordered).mappings().all()
        rows = found[::-1] if backwards else found
    return Page(rows, request.page, request.page_size, total_count)


def _order(
    column: AnyColumn,
    tail: AnyColumn,
    descending: bool,
    *,
    backwards: bool,
) -> list[ColumnElement[Any]]:
    order: list[ColumnElement[Any]] = [
        each.desc() if descending != backwards else each.asc() for each in (column, tail)
    ]
    if getattr(column.expression, "nullable", False):
        order[0] = order[0].nulls_first() if backwards else order[0].nulls_last()
    return order
