"""Fields of analytics: dates in a time zone, and numbers that may be null."""

import re
from datetime import date
from typing import Any

from marshmallow import fields

from app.web.schemas.fields import Timestamp

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class Day(Timestamp):
    """A time, or a date that begins in the requested time zone."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str) and _DATE.fullmatch(value):
            try:
                return date.fromisoformat(value)
            except ValueError as error:
                raise self.make_error("invalid", input=value, obj_type="moment") from error
        return super()._deserialize(value, attr, data, **kwargs)


def optional_number(description: str = "") -> fields.Float:
    """Return the field of a number that may be null."""
    metadata = {"description": description} if description else {}
    return fields.Float(required=True, allow_none=True, metadata=metadata)
