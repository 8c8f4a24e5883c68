"""Paging of lists by offset, with an exact count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Integer, Select, bindparam, func, select
from sqlalchemy.orm import InstrumentedAttribute

from app.core.database.session import Reader

Item = TypeVar("Item")
# Columns of the table are cheaper than those of its class: they bypass the mapper.
AnyColumn = ColumnElement[Any] | InstrumentedAttribute[Any]


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a list, and the size of the whole list.

    Attributes:
        searched: how many rows a search looked at, from the first; None: all.
    """

    items: Sequence[Item]
    page: int
    page_size: int
    total_count: int
    searched: int | None = None

    @property
    def total_pages(self) -> int:
        return -(-self.total_count // self.page_size)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page; `sort` is a column name, with a minus for descending."""

    page: int = 1
    page_size: int = 25
    sort: str = "-created_at"

    @property
    def offset(self) -> int:
        """Number of items before the page."""
        return (self.page - 1) * self.page_size


def cut_page(items: Sequence[Item], request: PageRequest) -> Page[Item]:
    page_items = items[request.offset : request.offset + request.page_size]
    return Page(page_items, request.page, request.page_size, len(items))


def select_page(
    session: Reader,
    statement: Select[*tuple[Any, ...]],
    request: PageRequest,
    *,
    sortable: Mapping[str, AnyColumn],
    tail: AnyColumn,
    total_count: int | None = None,
) -> Page[Any]:
    """Run a filtered select for one page, ordered by one column and by `tail`, a unique one.

    Nulls come last in both directions. Rows are mappings by the names of the selected columns. Pass
    `total_count` where a counter knows it.
    """
    if total_count is None:
        inner = statement.with_only_columns(tail).order_by(None).subquery()
        total_count = session.scalar(select(func.count()).select_from(inner)) or 0
    offset = request.offset
    rows: list[dict[str, Any]] = []
    if offset < total_count:
        column = sortable[request.sort.lstrip("-")]
        size = min(request.page_size, total_count - offset)
        remaining = total_count - offset - size
        # Pages near the end are counted from the end, so that the last page costs one page.
        backwards = remaining < offset
        descending = request.sort.startswith("-")
        ordered = _ordered(statement, column, tail, descending=descending, backwards=backwards)
        result = session.execute(ordered, {"_size": size, "_offset": min(offset, remaining)})
        names = tuple(result.keys())
        rows = [dict(zip(names, row, strict=True)) for row in result.all()]
        if backwards:
            rows.reverse()
    return Page(rows, request.page, request.page_size, total_count)


# Building the ordered statement costs more than running it; lists without filters share one.
@lru_cache(maxsize=64)
def _ordered(
    statement: Select[*tuple[Any, ...]],
    column: AnyColumn,
    tail: AnyColumn,
    *,
    descending: bool,
    backwards: bool,
) -> Select[*tuple[Any, ...]]:
    order = order_of(column, tail, descending=descending, backwards=backwards)
    size, offset = (bindparam(name, type_=Integer) for name in ("_size", "_offset"))
    return statement.order_by(*order).limit(size).offset(offset)


def order_of(
    column: AnyColumn, tail: AnyColumn, *, descending: bool, backwards: bool
) -> list[ColumnElement[Any]]:
    """Return an order by a column, nulls last, and then by `tail`; or its reverse if `backwards`."""
    order: list[ColumnElement[Any]] = [
        part.desc() if descending != backwards else part.asc() for part in (column, tail)
    ]
    if getattr(column.expression, "nullable", False):
        order[0] = order[0].nulls_first() if backwards else order[0].nulls_last()
    return order
