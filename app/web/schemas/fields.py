"""Fields of JSON bodies and answers: strict types, bounded texts, coded messages."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from marshmallow import ValidationError, fields, validate

from app.core.clock import iso_utc, utc_now
from app.core.ids import SUFFIX, is_id
from app.core.ip_addresses import network_of
from app.web.schemas.base import FORMAT, LENGTH, RANGE, REQUIRED, TYPE, CodedMessage, not_one_of

MAX_INTEGER = 2**53 - 1
# The clocks of other systems may be ahead of ours, but not by more than a day.
_CLOCK_TOLERANCE = timedelta(days=1)
BASE_MESSAGES = {
    "required": CodedMessage(REQUIRED, "This field is required."),
    "null": CodedMessage(TYPE, "This field may not be null."),
    "validator_failed": CodedMessage(FORMAT, "This value is not acceptable."),
}
# Zero-width and direction-changing characters make two names look alike.
_DECEPTIVE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class PlainText(fields.String):
    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a string."),
    }


class Text(PlainText):
    """A text of `low` to `high` characters, trimmed and in NFC, without control characters.

    `multiline` allows line breaks and tabs.
    """

    default_error_messages = {
        "short": CodedMessage(LENGTH, "This must have at least {low} characters."),
        "long": CodedMessage(LENGTH, "This must have at most {high} characters."),
        "control": CodedMessage(FORMAT, "This must not contain control or invisible characters."),
    }

    def __init__(self, high: int, *, low: int = 0, multiline: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._low, self._high, self._multiline = low, high, multiline
        # For the OpenAPI document; `_deserialize` has checked the length already.
        self.validators = [validate.Length(max=high, min=low or None), *self.validators]

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        text = unicodedata.normalize("NFC", text).strip()
        visible = re.sub(r"[\n\r\t]", "", text) if self._multiline else text
        if _DECEPTIVE.search(text) or any(unicodedata.category(c) == "Cc" for c in visible):
            raise self.make_error("control")
        if len(text) < self._low:
            raise self.make_error("short", low=self._low)
        if len(text) > self._high:
            raise self.make_error("long", high=self._high)
        return text


class FileName(Text):
    """The name of a file, without a folder."""

    def __init__(self, high: int, **kwargs: Any) -> None:
        error = CodedMessage(FORMAT, "fileName must be a name without a folder.")
        super().__init__(high, low=1, validate=validate.Regexp(r"[^/\\]+\Z", error=error), **kwargs)


class Pattern(PlainText):
    """A text of a fixed form, such as a label or a month."""

    def __init__(self, form: str, hint: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._form = re.compile(form, re.ASCII)
        self.metadata = {"pattern": f"^{form}$", **self.metadata}
        self.error_messages["form"] = CodedMessage(FORMAT, hint)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not self._form.fullmatch(text):
            raise self.make_error("form")
        return str(text)


class LanguageTag(Pattern):
    """A BCP 47 language tag."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            "[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*",
            "This must be a language tag such as en or hi-IN.",
            **kwargs,
        )


class Reference(PlainText):
    """The id of another resource; the service checks whether it exists."""

    default_error_messages = {
        "form": CodedMessage(FORMAT, "This must be an id such as {prefix}_01jd…")
    }

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._prefix = prefix
        self.metadata = {"pattern": f"^{prefix}_{SUFFIX}$", **self.metadata}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        if not is_id(text, self._prefix):
            raise self.make_error("form", prefix=self._prefix)
        return str(text)


class Whole(fields.Integer):
    """A whole number from `low` to `high`; JSON numbers only, no texts, no fractions."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a whole number."),
        "too_large": CodedMessage(RANGE, "This number is too large."),
    }

    def __init__(self, *, low: int = 0, high: int = MAX_INTEGER, **kwargs: Any) -> None:
        between = CodedMessage(RANGE, f"This must be between {low} and {high}.")
        super().__init__(strict=True, validate=validate.Range(low, high, error=between), **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class Number(fields.Float):
    """A finite number; JSON numbers only."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a number."),
        "special": CodedMessage(RANGE, "This must be a finite number."),
        "too_large": CodedMessage(RANGE, "This number is too large."),
    }

    def __init__(self, *, low: float | None = None, high: float | None = None, **kw: Any) -> None:
        range_text = f"at least {low}" if high is None else f"between {low} and {high}"
        error = CodedMessage(RANGE, f"This must be {range_text}.")
        checks = validate.Range(low, high, error=error) if (low, high) != (None, None) else None
        super().__init__(validate=checks, **kw)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


class Flag(fields.Boolean):
    """`true` or `false` and nothing that merely looks like it."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be true or false."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class Choice(PlainText):
    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(validate=_OneOf([str(choice) for choice in choices]), **kwargs)


class _OneOf(validate.OneOf):
    def __call__(self, value: Any) -> Any:
        if value not in self.choices:
            raise ValidationError(not_one_of("This", value, self.choices))
        return value


class Items(fields.List[Any]):
    """A list of `low` to `high` members."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be a list."),
    }

    def __init__(self, inner: Any, *, low: int = 0, high: int, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, f"This must have {low} to {high} entries.")
        super().__init__(inner, validate=validate.Length(low, high, error=error), **kwargs)


class Nested(fields.Nested):
    """An object of another schema."""

    default_error_messages = {
        **BASE_MESSAGES,
        "type": CodedMessage(TYPE, "This must be an object."),
    }


class Timestamp(fields.DateTime):
    """A moment: ISO 8601 with an offset comes in, UTC with milliseconds and `Z` goes out."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(FORMAT, "This must be a time such as 2026-11-21T09:30:00Z."),
        "naive": CodedMessage(FORMAT, "This time needs an offset, such as Z or +05:30."),
    }

    def __init__(self, *, allow_date: bool = False, **kwargs: Any) -> None:
        super().__init__(format="iso", **kwargs)
        self._allow_date = allow_date

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        if not isinstance(value, str) or len(value) > 40 or not value.isascii():
            raise self.make_error("invalid", input=value, obj_type="moment")
        if self._allow_date and _DATE.fullmatch(value):
            value += "T00:00:00Z"
        try:
            moment = datetime.fromisoformat(value)
        except ValueError as error:
            raise self.make_error("invalid", input=value, obj_type="moment") from error
        if moment.tzinfo is None or "T" not in value.upper():
            raise self.make_error("naive")
        try:
            return moment.astimezone(UTC)
        except OverflowError as error:
            raise self.make_error("invalid", input=value, obj_type="moment") from error

    def _serialize(self, value: Any, attr: Any, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else iso_utc(value)


class PastMoment(Timestamp):
    """A time in the past, or at most a day ahead of the service's clock."""

    default_error_messages = {"future": CodedMessage(RANGE, "This time is in the future.")}

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> datetime:
        moment = super()._deserialize(value, attr, data, **kwargs)
        if moment > utc_now() + _CLOCK_TOLERANCE:
            raise self.make_error("future")
        return moment


class Zone(PlainText):
    """A time zone by its IANA name; loads as a ZoneInfo."""

    default_error_messages = {
        "unknown": CodedMessage(FORMAT, "timezone must be an IANA name such as Asia/Kolkata.")
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        name = super()._deserialize(value, attr, data, **kwargs)
        if name not in zone_names():
            raise self.make_error("unknown")
        return ZoneInfo(name)


class Network(PlainText):
    """An IP address or network in CIDR form without host bits; loads in canonical form."""

    default_error_messages = {
        "form": CodedMessage(
            FORMAT,
            "This must be a network such as 10.0.0.0/8 or 2001:db8::/32, with IPv4 not written as IPv6.",
        )
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        try:
            return str(network_of(text))
        except ValueError as error:
            raise self.make_error("form") from error


class Members(fields.Dict):
    """An object whose names differ as they are stored too, so that no value replaces another."""

    default_error_messages = {
        **BASE_MESSAGES,
        "invalid": CodedMessage(TYPE, "This must be an object."),
        "repeated": CodedMessage(FORMAT, "Two of these names are stored as the same name."),
    }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        members = super()._deserialize(value, attr, data, **kwargs)  # type: ignore[no-untyped-call]
        if len(members) < len(value):
            raise self.make_error("repeated")
        return members


class Labels(Members):
    """An object of at most 20 strings."""

    default_error_messages = {"invalid": CodedMessage(TYPE, "This must be an object of strings.")}

    def __init__(self, **kwargs: Any) -> None:
        error = CodedMessage(LENGTH, "This must have at most 20 entries.")
        super().__init__(
            keys=Text(64, low=1),
            values=Text(256),
            validate=validate.Length(max=20, error=error),
            **kwargs,
        )


@cache
def zone_names() -> frozenset[str]:
    """Return the IANA names of time zones."""
    # Files of the zone database that are not zones: the first is the zone of the host.
    return frozenset(available_timezones() - {"localtime", "Factory"})
