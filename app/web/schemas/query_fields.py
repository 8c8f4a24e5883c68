"""Fields of query parameters, whose values are all texts."""

import re
from collections.abc import Sequence
from typing import Any

from marshmallow import ValidationError

from app.core.ids import is_id
from app.web.schemas.fields import Flag, Number, PlainText, Whole
from app.web.schemas.messages import ENUM, FORMAT, LENGTH, CodedMessage


class QueryWhole(Whole):
    """A whole number: one to nine ASCII digits."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", str(value), re.ASCII):
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

    def __init__(self, choices: Sequence[str], **kwargs: Any) -> None:
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
                raise ValidationError(
                    CodedMessage(ENUM, f"{word!r} must be one of {', '.join(self._names)}.")
                )
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
