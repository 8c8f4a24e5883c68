"""Fields of analytics: dates in a time zone, the zone, and numbers that may be null."""

import re
from datetime import date
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from marshmallow import fields

from app.web.schemas.fields import BASE_MESSAGES, Moment
from app.web.schemas.messages import FORMAT, TYPE, CodedMessage

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Day(Moment):
    """A time, or a date that begins in the requested time zone."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError as error:
                raise self.make_error("invalid", input=value, obj_type="moment") from error
        return super()._deserialize(value, attr, data, **kwargs)


class Zone(fields.String):
    """A time zone by its IANA name; loads as a ZoneInfo."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "timezone must be a text."),
        "unknown": CodedMessage(FORMAT, "timezone must be an IANA name such as Asia/Kolkata."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        name = super()._deserialize(value, attr, data, **kwargs)
        if name not in _zones():
            raise self.make_error("unknown")
        return ZoneInfo(name)


def optional_number(description: str = "") -> fields.Float:
    """Return the field of a number that may be null."""
    metadata = {"description": description} if description else {}
    return fields.Float(required=True, allow_none=True, metadata=metadata)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
