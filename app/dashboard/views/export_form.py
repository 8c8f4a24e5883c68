"""Form of an export: its texts as the body that the API takes."""

import re
from collections.abc import Mapping
from typing import Any

from app.dashboard.views.list_filters import FIELDS, Control

_FLAGS = {"true": True, "false": False}
# Fields whose texts are values of the body as they are.
_PLAIN = ("dataset", "format", "from", "to", "delimiter", "fileName")
_FILTERS = "filters."


def body_of(texts: Mapping[str, str], timezone: str) -> dict[str, Any]:
    """Return the body; what is no number or no flag stays a text, which the schema refuses."""
    body: dict[str, Any] = {name: texts[name] for name in _PLAIN if texts.get(name)}
    columns = [name.strip() for name in texts.get("columns", "").split(",") if name.strip()]
    if columns:
        body["columns"] = columns
    filters = {
        field.name: _value(field.control, texts[field.name])
        for field in FIELDS
        if texts.get(field.name)
    }
    return {
        **body,
        "timezone": timezone,
        "filters": filters,
        "includeText": texts.get("includeText") == "true",
    }


def named_as_fields(errors: Mapping[str, str]) -> dict[str, str]:
    """Return messages by the names of the form's fields."""
    return {name.removeprefix(_FILTERS): message for name, message in errors.items()}


def _value(control: Control, text: str) -> Any:
    if control is Control.NUMBER and re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text):
        return float(text) if "." in text else int(text)
    if control is Control.SELECT:
        return _FLAGS.get(text, text)
    return text
