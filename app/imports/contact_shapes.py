"""Schema fields that conversations and voice calls share."""

import re
from datetime import datetime, timedelta
from typing import Any

from marshmallow import ValidationError, fields, validate, validates_schema

from app.core.clock import utc_now
from app.imports.external_ids import FORM, HINT
from app.imports.names import FIELDS
from app.web.schemas.base import CamelSchema, reject
from app.web.schemas.fields import (
    BASE_MESSAGES,
    MAX_INTEGER,
    Labels,
    LanguageTag,
    Moment,
    Pattern,
    Reference,
    Text,
)
from app.web.schemas.messages import FORMAT, LENGTH, RANGE, TYPE, Message
from app.web.schemas.query_fields import QueryFlag

# The clocks of other systems may be ahead of ours, but not by a day.
_AHEAD = timedelta(days=1)
_MOST_FIELDS = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class EvaluateQuery(CamelSchema):
    """Whether what comes in is to be judged."""

    evaluate = QueryFlag(
        metadata={
            "description": "false: only keep it. true: judge a conversation that is still open, "
            "too. Left out: judge what has ended."
        }
    )


class PastMoment(Moment):
    """A moment that has come, give or take a day."""

    default_error_messages = {"future": Message(RANGE, "This lies in the future.")}  # noqa: RUF012

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        moment = super()._deserialize(value, attr, data, **kwargs)
        if moment > utc_now() + _AHEAD:
            raise self.make_error("future")
        return moment


class Speech(fields.String):
    """What somebody has said or written, kept as it is: joiners belong to emoji and to scripts."""

    default_error_messages = {  # noqa: RUF012
        **BASE_MESSAGES,
        "invalid": Message(TYPE, "This must be a text."),
        "control": Message(FORMAT, "This may not hold control characters."),
    }

    def __init__(self, high: int, **kwargs: Any) -> None:
        error = Message(LENGTH, f"This must have at most {high} characters.")
        super().__init__(validate=validate.Length(max=high, error=error), **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if _CONTROL.search(text):
            raise self.make_error("control")
        return str(text)


class Values(fields.Dict):
    """A map of at most 100 names to texts, numbers, truths or nulls."""

    default_error_messages = {  # noqa: RUF012
        "invalid": Message(TYPE, "This must be an object of texts, numbers, truths or nulls.")
    }

    def __init__(self, **kwargs: Any) -> None:
        error = Message(LENGTH, f"This must have at most {_MOST_FIELDS} members.")
        super().__init__(
            keys=Text(64, low=1),
            values=_Value(allow_none=True),
            validate=validate.Length(max=_MOST_FIELDS, error=error),
            **kwargs,
        )


_VALUE_TEXT = Text(1000, multiline=True)


class _Value(fields.Raw):
    """A text of at most 1,000 characters, a number, or a truth."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, str):
            return _VALUE_TEXT.deserialize(value)
        if not isinstance(value, bool | int | float):
            raise ValidationError(Message(TYPE, "This must be a text, a number or a truth."))
        if abs(value) > MAX_INTEGER:
            raise ValidationError(Message(RANGE, "This number is too large."))
        return value


class ContactUpsert(CamelSchema):
    """A contact as another system knows it; what is left out takes its default."""

    external_id = Pattern(FORM, HINT, metadata={"description": "Equal to the one in the path."})
    engagement_id = Reference("eng", allow_none=True, load_default=None)
    campaign_id = Reference("camp", allow_none=True, load_default=None)
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    engagement = Text(200, low=1, metadata={"description": "A name in place of the id."})
    campaign = Text(200, low=1, metadata={"description": "A name in place of the id."})
    call_center = Text(200, low=1, metadata={"description": "A name in place of the id."})
    executive = Text(200, low=1, metadata={"description": "A name in place of the id."})
    language = LanguageTag(allow_none=True, load_default=None)
    started_at = PastMoment(allow_none=True, load_default=None)
    ended_at = PastMoment(allow_none=True, load_default=None)
    labels = Labels(load_default=dict)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "ended_at")

    @validates_schema
    def _check_names(self, data: dict[str, Any], **_: Any) -> None:
        for field, named in FIELDS.items():
            if data.get(named.column) and data.get(named.column.removesuffix("_id")):
                raise reject(field, "Give the name or the id, not both.")


def names_in(values: dict[str, Any]) -> dict[str, str]:
    """Take the names out of what a shape has loaded."""
    found = {}
    for field, named in FIELDS.items():
        name = values.pop(named.column.removesuffix("_id"), None)
        if name is not None:
            found[field] = name
    return found


def require_order(data: dict[str, Any], first: str, then: str) -> None:
    """Refuse a moment that comes before the one that it follows."""
    before, after = data.get(first), data.get(then)
    if before is not None and after is not None and after < before:
        keys = [_camel(first), _camel(then)]
        raise reject(keys[1], f"{keys[1]} may not be before {keys[0]}.", code=RANGE)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
