"""Query parameters that every list shares: page, pageSize, sort, from and to."""

from typing import Any

from marshmallow import post_load, validates_schema

from app.core.database.paging import PageRequest
from app.web.schemas.base import CamelSchema, reject
from app.web.schemas.fields import Choice, Timestamp
from app.web.schemas.messages import RANGE
from app.web.schemas.query_fields import QueryWhole

_DEEPEST = 1_000_000


class PageQuery(CamelSchema):
    """Page, page size and sort order; loads as `page_request`, next to the filters of the list."""

    page = QueryWhole(low=1, high=_DEEPEST, load_default=1)
    page_size = QueryWhole(low=1, high=100, load_default=25)

    @validates_schema
    def _check_depth(self, data: dict[str, Any], **_: Any) -> None:
        if data["page"] * data["page_size"] > _DEEPEST:
            raise reject("page", f"page times pageSize may be at most {_DEEPEST:,}.", code=RANGE)

    @post_load
    def _collect(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        sort = data.pop("sort", "-createdAt")
        request = PageRequest(data.pop("page"), data.pop("page_size"), _snake(sort))
        return {"page_request": request, **data}


class PeriodQuery(PageQuery):
    """A page query with a period: `from` inclusive, `to` exclusive."""

    start = Timestamp(data_key="from", allow_date=True)
    end = Timestamp(data_key="to", allow_date=True)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        if "start" in data and "end" in data and data["start"] >= data["end"]:
            raise reject("to", "to must be later than from.", code=RANGE)


def sort_field(*names: str, default: str = "-createdAt") -> Choice:
    """Build the `sort` parameter: camelCase names, with a minus for descending order."""
    return Choice([sign + name for name in names for sign in ("", "-")], load_default=default)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
