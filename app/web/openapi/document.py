"""OpenAPI document: generated from the decorators, completed with what all endpoints share."""

import re
from collections.abc import Sequence
from typing import Any

import flask_smorest
from flask import Flask

from app import __version__
from app.web.api import BASES, Blueprint
from app.web.errors import ErrorSchema
from app.web.openapi.examples import exemplify

_TITLE = "CQE, the Conversation Quality Evaluation Service"
_METHODS = ("get", "post", "put", "patch", "delete")
_ERRORS = {
    "400": "The body is not well-formed JSON (MALFORMED_REQUEST).",
    "401": "The key, the signature or the timestamp is invalid "
    "(INVALID_API_KEY, INVALID_SIGNATURE, TIMESTAMP_EXPIRED).",
    "403": "The key lacks the scope, or its allowlist excludes this address (INSUFFICIENT_SCOPE, IP_NOT_ALLOWED).",
    "404": "There is no such resource (RESOURCE_NOT_FOUND).",
    "405": "The resource does not support this method (METHOD_NOT_ALLOWED).",
    "409": "The state of the resource does not allow this (CONFLICT).",
    "411": "A body needs a Content-Length (LENGTH_REQUIRED).",
    "412": "If-Match names another version (PRECONDITION_FAILED).",
    "413": "The body is too large (PAYLOAD_TOO_LARGE).",
    "415": "The body is not application/json (UNSUPPORTED_MEDIA_TYPE).",
    "422": "Some fields are invalid (VALIDATION_ERROR, IDEMPOTENCY_KEY_REUSED).",
    "429": "Too many requests (RATE_LIMIT_EXCEEDED).",
    "500": "An unexpected error occurred (INTERNAL_ERROR).",
    "503": "The service cannot answer right now (SERVICE_UNAVAILABLE).",
}
_ALWAYS = ("401", "403", "404", "405", "429", "500", "503")
_WITH_BODY = ("400", "411", "413", "415", "422")
_HEADERS = {
    "X-Request-Id": ("Id of this request, also in the envelope", {"type": "string"}),
    "RateLimit-Policy": ("Rate-limit policies of this request", {"type": "string"}),
    "RateLimit": ("Remaining requests under each policy", {"type": "string"}),
}
_SCHEMES = {
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "timestamp": {"type": "apiKey", "in": "header", "name": "X-Timestamp"},
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Signature",
        "description": "Hex HMAC-SHA256 of the six lines of CQE1-HMAC-SHA256; see docs/authentication.md.",
    },
    "bearer": {"type": "http", "scheme": "bearer"},
}
_SIGNED: dict[str, list[str]] = {"apiKey": [], "timestamp": [], "signature": []}
_MORE_TAGS = {
    "extension": "Beyond the specification",
    "health": "Whether the service can do its work",
}
_BEARER_TAGS = ("engagements", "usage")


class _DocumentedApi(flask_smorest.Api):
    """Collects the documentation of the decorators."""

    ERROR_SCHEMA = ErrorSchema


def build_document(app: Flask, blueprints: Sequence[Blueprint]) -> dict[str, Any]:
    """Return the document as a plain dict, with the first base path of each blueprint."""
    # Not our application: flask-smorest would register its error handlers there.
    api = _DocumentedApi(
        Flask("openapi"),
        spec_kwargs={"title": _TITLE, "version": __version__, "openapi_version": "3.1.0"},
    )
    for blueprint in blueprints:
        blueprint.register_views_in_doc(api, app, api.spec, name=blueprint.name, parameters=None)
        api.spec.tag({"name": blueprint.name, "description": blueprint.description})
    document: dict[str, Any] = api.spec.to_dict()
    document["info"]["description"] = (
        "Judges conversations against a scorecard, with evidence. Every path under /api/v1 is "
        "also served under /v1."
    )
    document["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    document["info"]["contact"] = {"name": "Whoever runs this service"}
    document["servers"] = [{"url": "/"}]
    components = document["components"]
    components["securitySchemes"] = _SCHEMES
    components["headers"] = {
        name: {"description": text, "schema": schema} for name, (text, schema) in _HEADERS.items()
    }
    components["responses"] = {f"Error{status}": _error(status) for status in _ERRORS}
    views = _views(app)
    for path, item in document["paths"].items():
        _type_path_ids(item)
        for method in _METHODS:
            if method in item:
                _complete(item[method], method, views[method.upper(), path])
    document["paths"]["/health"] = {"get": _health()}
    document["tags"] += [{"name": name, "description": text} for name, text in _MORE_TAGS.items()]
    _translate_patterns(document)
    exemplify(components["schemas"])
    return document


def _complete(operation: dict[str, Any], method: str, view: Any) -> None:
    operation["operationId"] = _camel(view.__name__)
    operation["description"] = f"{operation.get('summary', '')} Scope: {view.required_scope}."
    bearer = operation["tags"][0] in _BEARER_TAGS
    operation["security"] = [_SIGNED, *([{"bearer": []}] if bearer else [])]
    responses = operation["responses"]
    responses.pop("default", None)
    if method == "put":
        responses["201"] = {**responses["200"], "description": "Created"}
    body = "requestBody" in operation
    if body and method == "post":
        parameter = {"type": "string", "minLength": 1, "maxLength": 255}
        operation.setdefault("parameters", []).append(
            {"in": "header", "name": "Idempotency-Key", "required": False, "schema": parameter}
        )
    if body:
        operation["requestBody"]["required"] = False
    statuses = [*_ALWAYS, "409", "412"] if method != "get" else list(_ALWAYS)
    statuses += _WITH_BODY if method in ("post", "put", "patch") else ("422",)
    for status in {*statuses, *(_ERRORS.keys() & {str(status) for status in responses})}:
        responses[status] = {"$ref": f"#/components/responses/Error{status}"}
    for status, response in responses.items():
        if "$ref" not in response and status[0] == "2":
            response["headers"] = _header_references()
    operation["responses"] = dict(sorted(responses.items()))


def _type_path_ids(item: dict[str, Any]) -> None:
    for parameter in item.get("parameters", []):
        typed = "pattern" in parameter["schema"]
        if parameter["in"] == "path" and parameter["name"].endswith("_id") and not typed:
            parameter["schema"] = {
                "type": "string",
                "pattern": "^[a-z]{2,5}_[0-7][0-9a-hjkmnp-tv-z]{25}$",
            }


def _error(status: str) -> dict[str, Any]:
    return {
        "description": _ERRORS[status],
        "headers": _header_references(),
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _health() -> dict[str, Any]:
    names = ("status", "time", "checks")
    return {
        "operationId": "getHealth",
        "summary": "Get the health of the service.",
        "description": "Needs no key. Contains no versions, hosts or paths.",
        "tags": ["health"],
        "security": [],
        "responses": {
            "200": {
                "description": "ok, or degraded if a part that is not vital fails",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "required": list(names),
                            "properties": {
                                "status": {"type": "string", "enum": ["ok", "degraded"]},
                                "time": {"type": "string", "format": "date-time"},
                                "checks": {
                                    "type": "object",
                                    "additionalProperties": {"enum": ["ok", "failing"]},
                                },
                            },
                        }
                    }
                },
            },
            "503": {"$ref": "#/components/responses/Error503"},
        },
    }


def _translate_patterns(node: Any) -> None:
    """Write the end of a text as in ECMA-262, the syntax of OpenAPI patterns."""
    members = node.values() if isinstance(node, dict) else node
    if isinstance(node, dict) and str(node.get("pattern", "")).endswith(r"\Z"):
        node["pattern"] = f"^{node['pattern'].removesuffix(chr(92) + 'Z')}$"
    for member in members:
        if isinstance(member, dict | list):
            _translate_patterns(member)


def _header_references() -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}


def _views(app: Flask) -> dict[tuple[str, str], Any]:
    views: dict[tuple[str, str], Any] = {}
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", str(rule))
        if path.startswith(BASES[0]):
            for method in rule.methods or ():
                views[method, path] = app.view_functions[rule.endpoint]
    return views


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
