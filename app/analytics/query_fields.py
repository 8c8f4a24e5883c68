"""Fields of a period: days in a time zone, and the zone."""

import re
from datetime import date
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from marshmallow import fields

from app.web.schemas.fields import BASE_MESSAGES, Moment
from app.web.schemas.messages import FORMAT, TYPE, Message

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Day(Moment):
    """A moment, or a date, which begins in the time zone that is asked for."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError as error:
                raise self.make_error("invalid", input=value, obj_type="moment") from error
        return super()._deserialize(value, attr, data, **kwargs)


class Zone(fields.String):
    """A time zone by its IANA name; loads as one."""

    default_error_messages = {  # noqa: RUF012 - marshmallow reads it
        **BASE_MESSAGES,
        "invalid": Message(TYPE, "This must be a text."),
        "unknown": Message(FORMAT, "This must be a time zone such as Asia/Kolkata."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        name = super()._deserialize(value, attr, data, **kwargs)
        if name not in _zones():
            raise self.make_error("unknown")
        return ZoneInfo(name)


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())
