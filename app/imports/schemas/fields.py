"""Fields of conversations and voice calls: past times, spoken text, and maps of plain values."""

import re
from datetime import datetime, timedelta
from typing import Any

from marshmallow import ValidationError, fields, validate

from app.core.clock import utc_now
from app.web.schemas.base import FORMAT, LENGTH, RANGE, TYPE, CodedMessage
from app.web.schemas.fields import BASE_MESSAGES, MAX_INTEGER, Text, Timestamp

# The clocks of other systems may be ahead of ours, but not by more than a day.
_CLOCK_TOLERANCE = timedelta(days=1)
_MAX_VALUES = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class PastMoment(Timestamp):
    """A time in the past, or at most a day ahead of the service's clock."""

    default_error_messages = {"future": CodedMessage(RANGE, "This time is in the future.")}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        moment = super()._deserialize(value, attr, data, **kwargs)
        if moment > utc_now() + _CLOCK_TOLERANCE:
            raise self.make_error("future")
        return moment


class SpokenText(fields.String):
    """Spoken or written text, kept unchanged: emoji and some scripts need invisible joiners."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a string."),
        "control": CodedMessage(FORMAT, "This must not contain control characters."),
    }

    def __init__(self, high: int, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, f"This must have at most {high} characters.")
        super().__init__(validate=validate.Length(max=high, error=error), **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if _CONTROL.search(text):
            raise self.make_error("control")
        return str(text)


class PlainValues(fields.Dict):
    """A map of at most 100 names to strings, numbers, booleans or nulls."""

    default_error_messages = {
        "invalid": CodedMessage(
            TYPE, "This must be an object of strings, numbers, booleans or nulls."
        )
    }

    def __init__(self, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, f"This must have at most {_MAX_VALUES} members.")
        super().__init__(
            keys=Text(64, low=1),
            values=_PlainValue(allow_none=True),
            validate=validate.Length(max=_MAX_VALUES, error=error),
            **kwargs,
        )


_VALUE_TEXT = Text(1000, multiline=True)


class _PlainValue(fields.Raw):
    """A string of at most 1,000 characters, a number, or a boolean."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str):
            return _VALUE_TEXT.deserialize(value)
        if not isinstance(value, bool | int | float):
            raise ValidationError(
                CodedMessage(TYPE, "This must be a string, a number or a boolean.")
            )
        if abs(value) > MAX_INTEGER:
            raise ValidationError(CodedMessage(RANGE, "This number is too large."))
        return value
