"""Samples of whole bodies for the OpenAPI document: requests, recorded answers, and errors.

`requests.json` is written by hand. `python -m bench.api_answers` sends these requests to a real
service and records `answers.json`.
"""

import json
from pathlib import Path
from typing import Any

from app.core import errors
from app.web.openapi.field_examples import TAIL

_FOLDER = Path(__file__).parent


def add_samples(document: dict[str, Any]) -> None:
    """Add the samples of every operation to its request and to its successful answer."""
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
                _only_content(response)["example"] = answers[name]["body"]


def error_samples(status: str) -> dict[str, Any]:
    """Return an answer for every error that has this status, by its code."""
    kinds = [kind for kind in _ERRORS if str(kind.status) == status]
    return {kind.code: {"value": _error_answer(kind)} for kind in kinds}


_ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.AppError)
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


def _only_content(holder: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any]
    [content] = holder["content"].values()
    return content


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((_FOLDER / name).read_text()))
