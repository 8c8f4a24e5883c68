"""Examples of fields for the OpenAPI document: a realistic value for each, by name and type."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("field_examples.toml")
# The last part of every id.
TAIL = "01jd3v8xqkf6r9w2m5t7h4c0pz"
_MOMENT = "2026-11-21T09:30:00.000Z"

# Id prefixes by the name of the field.
_PREFIXES: dict[str, str] = {
    "engagement": "eng",
    "evaluation": "eval",
    "supersedes": "eval",
    "audioFile": "aud",
    "audio_file": "aud",
    "conversation": "conv",
    "message": "msg",
    "voiceCall": "call",
    "campaign": "camp",
    "callCenter": "cc",
    "callCenterIds": "cc",
    "executive": "exec",
    "executives": "exec",
    "key": "key",
    "scorecard": "sc",
    "webhook": "wh",
    "event": "evt",
    "delivery": "dlv",
    "source": "aud",
    "job": "job",
}
_BY_FORMAT = {"date-time": _MOMENT, "date": "2026-11-21", "email": "nora@example.com"}


@cache
def examples_by_name() -> dict[str, str]:
    """Return realistic values by the name of their field."""
    return tomllib.loads(_FILE.read_text())


def exemplify(schemas: dict[str, Any]) -> None:
    """Add an example to every plain field of these schemas that has none."""
    for name, schema in schemas.items():
        for field, shape in schema.get("properties", {}).items():
            if not {"example", "examples"} & shape.keys():
                value = _example(field, shape, name)
                if value is not None:
                    shape["examples"] = [value]


def _example(field: str, shape: dict[str, Any], schema: str) -> Any:
    kinds = shape.get("type", ())
    kind = kinds if isinstance(kinds, str) else next(iter(kinds), None)
    if shape.get("enum"):
        return next(value for value in shape["enum"] if value is not None)
    if kind == "array" and "$ref" not in shape.get("items", {}):
        inner = _example(field, shape["items"], schema)
        return None if inner is None else [inner]
    if kind == "string":
        return _text(field, shape, schema)
    if kind in ("integer", "number"):
        low, high = shape.get("minimum", 0), shape.get("maximum", 1_000)
        return int(min(max(low, 1), high)) if kind == "integer" else min(max(low, 0.5), high)
    return True if kind == "boolean" else None


def _text(field: str, shape: dict[str, Any], schema: str) -> str:
    if shape.get("format") in _BY_FORMAT:
        return _BY_FORMAT[shape["format"]]
    pattern = str(shape.get("pattern", ""))
    if pattern.startswith("^") and "_[0-7]" in pattern:
        prefix = pattern[1:].split("_", 1)[0].strip("()").split("|")[0]
        return f"{prefix}_{TAIL}"
    for stem in (field.removesuffix("Id"), field.removesuffix("_id"), field):
        if stem in _PREFIXES and (stem != field or field.endswith("s")):
            return f"{_PREFIXES[stem]}_{TAIL}"
    return examples_by_name().get(field, "text")
