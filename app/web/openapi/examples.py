"""Examples for the OpenAPI document: of fields, requests, recorded answers and errors.

`requests.json` is written by hand. `python -m bench.api_answers` sends these requests to a real
service and records `answers.json`.
"""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from app.core import errors

_FOLDER = Path(__file__).parent
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
_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.AppError) and kind is not errors.DiskFull
]
_DETAILS: dict[type[errors.AppError], list[errors.Detail]] = {
    errors.InvalidInput: [
        {
            "location": "query",
            "field": "pageSize",
            "code": "RANGE",
            "message": "pageSize must be between 1 and 100.",
        }
    ],
    errors.InvalidSignature: [
        {
            "location": "headers",
            "field": "X-Signature",
            "timestamp": "1795243800",
            "nonce": "",
            "method": "GET",
            "path": "/api/v1/engagements?q=a+b",
            "bodySha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        }
    ],
    errors.TimestampExpired: [
        {"location": "headers", "field": "X-Timestamp", "serverTime": "1795243800"}
    ],
}
_RETRY_AFTER_S = {errors.RateLimitExceeded: 7, errors.ServiceUnavailable: 5}


@cache
def examples_by_name() -> dict[str, str]:
    """Return realistic values by the name of their field."""
    return tomllib.loads((_FOLDER / "field_examples.toml").read_text())


def exemplify(schemas: dict[str, Any]) -> None:
    for schema in schemas.values():
        for field, shape in schema.get("properties", {}).items():
            if not {"example", "examples"} & shape.keys():
                value = _example(field, shape)
                if value is not None:
                    shape["examples"] = [value]


def _example(field: str, shape: dict[str, Any]) -> Any:
    kinds = shape.get("type", ())
    kind = kinds if isinstance(kinds, str) else next(iter(kinds), None)
    if shape.get("enum"):
        return next(value for value in shape["enum"] if value is not None)
    if kind == "array" and "$ref" not in shape.get("items", {}):
        inner = _example(field, shape["items"])
        return None if inner is None else [inner]
    if kind == "string":
        return _text(field, shape)
    if kind in ("integer", "number"):
        low, high = shape.get("minimum", 0), shape.get("maximum", 1_000)
        return int(min(max(low, 1), high)) if kind == "integer" else min(max(low, 0.5), high)
    return True if kind == "boolean" else None


def _text(field: str, shape: dict[str, Any]) -> str:
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


def add_samples(document: dict[str, Any]) -> None:
    requests, answers = _read("requests.json"), _read("answers.json")
    for item in document["paths"].values():
        for operation in item.values():
            if "operationId" not in operation:
                continue
            name = operation["operationId"]
            if "requestBody" in operation and name in requests:
                content = operation["requestBody"]["content"]["application/json"]
                content["example"] = requests[name]
                for parameter in item.get("parameters", ()):
                    if parameter["name"] == "external_id":
                        parameter["example"] = requests[name]["externalId"]
            if name in answers:
                response = operation["responses"][str(answers[name]["status"])]
                [content] = response["content"].values()
                content["example"] = answers[name]["body"]


def error_samples(status: str) -> dict[str, Any]:
    """Return an answer for every error that has this status, by its code."""
    kinds = [kind for kind in _ERRORS if str(kind.status) == status]
    return {kind.code: {"value": _error_answer(kind)} for kind in kinds}


def _error_answer(kind: type[errors.AppError]) -> dict[str, Any]:
    error: dict[str, Any] = {
        "code": kind.code,
        "message": kind.message,
        "requestId": f"req_{TAIL}",
    }
    if kind in _RETRY_AFTER_S:
        error["retryAfter"] = _RETRY_AFTER_S[kind]
    if kind in _DETAILS:
        error["details"] = _DETAILS[kind]
    return {"error": error}


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((_FOLDER / name).read_text()))
