"""Query parameters, whose values are all texts: their fields, and the page, sort and period of a list."""

import re
from collections.abc import Iterable
from typing import Any

from marshmallow import ValidationError, post_load, validates_schema

from app.core.database.paging import PageRequest
from app.core.ids import is_id
from app.web.schemas.base import (
    FORMAT,
    LENGTH,
    RANGE,
    CamelSchema,
    CodedMessage,
    not_one_of,
    reject,
)
from app.web.schemas.fields import Choice, Flag, Number, PlainText, Timestamp, Whole

_DEEPEST = 1_000_000


class QueryWhole(Whole):
    """A whole number: ASCII digits with an optional minus, which a range may refuse."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if not re.fullmatch(r"-?[0-9]{1,18}", str(value), re.ASCII):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(int(value), attr, data, **kwargs)


class QueryNumber(Number):
    """A number: digits with an optional sign and fraction."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        if not re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", str(value), re.ASCII):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(float(value), attr, data, **kwargs)


class QueryFlag(Flag):
    """A boolean: `true` or `false`."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        return super()._deserialize({"true": True, "false": False}.get(value), attr, data, **kwargs)


class Choices(PlainText):
    """A comma-separated list of enum values; loads as a list."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._names = [str(choice) for choice in choices]
        self.metadata = {
            "description": f"Comma-separated list of {', '.join(self._names)}",
            **self.metadata,
        }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        words = super()._deserialize(value, attr, data, **kwargs).split(",")
        for word in words:
            if word not in self._names:
                raise ValidationError(not_one_of(repr(word), word, self._names))
        return words


class Ids(PlainText):
    """A comma-separated list of ids of one kind; loads as a list without repetitions."""

    def __init__(self, prefix: str, *, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._prefix, self._most = prefix, most

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        ids = list(dict.fromkeys(super()._deserialize(value, attr, data, **kwargs).split(",")))
        for text in ids:
            if not is_id(text, self._prefix):
                message = f"{text!r} must be an id such as {self._prefix}_01jd…."
                raise ValidationError(CodedMessage(FORMAT, message))
        if len(ids) > self._most:
            raise ValidationError(CodedMessage(LENGTH, f"This may name at most {self._most} ids."))
        return ids


class PageQuery(CamelSchema):
    """Page, page size and sort order; loads as `page_request`, beside the filters."""

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


class PeriodFilter(CamelSchema):
    """A period: `from` inclusive, `to` exclusive."""

    start = Timestamp(data_key="from", allow_date=True)
    end = Timestamp(data_key="to", allow_date=True)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        if "start" in data and "end" in data and data["start"] >= data["end"]:
            raise reject("to", "to must be later than from.", code=RANGE)


class PeriodQuery(PeriodFilter, PageQuery):
    """A page query with a period: `from` inclusive, `to` exclusive."""


def sort_field(*names: str, default: str = "-createdAt") -> Choice:
    """Build the `sort` parameter: camelCase names, with a minus for descending order."""
    return Choice([sign + name for name in names for sign in ("", "-")], load_default=default)


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
