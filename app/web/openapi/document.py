"""OpenAPI document: generated from the decorators, completed with what all endpoints share."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import flask_smorest
from flask import Flask

from app import __version__
from app.web.api import BASES, Blueprint, IdConverter
from app.web.errors import ErrorSchema
from app.web.openapi.descriptions import describe
from app.web.openapi.field_examples import exemplify
from app.web.openapi.samples import add_samples, error_samples
from app.web.principal import EXPENSIVE
from app.web.schemas.base import camel_case

_TITLE = "CQE API"
_ABOUT = """\
CQE judges conversations against a scorecard, with evidence. Every path under `/api/v1` is served
under `/v1` as well.

## Signing

Every request except `GET /health` carries these headers:

| Header | Value |
|---|---|
| `X-Api-Key` | The API key, `cqek_…` |
| `X-Timestamp` | Unix time in seconds, at most 300 from the server's clock |
| `X-Nonce` | Optional: 1 to 64 characters of `A-Z a-z 0-9 . _ ~ -`, new in each request, which is then accepted only once |
| `X-Signature` | The signature |

The signature is the hex HMAC-SHA256, keyed with the whole secret (`cqes_…`), of these six lines,
joined by line feeds without one at the end:

    CQE1-HMAC-SHA256
    <X-Timestamp>
    <X-Nonce, or an empty line>
    <method>
    <path and query exactly as sent>
    <hex SHA-256 of the body as sent; of nothing if there is no body>

If the signature does not match, `error.details` shows the lines as the service received them. There
are clients for Python and JavaScript in `clients/`, and `./run signing vectors` prints test vectors.
On this page, requests are signed with the key that is pasted above.

## Answers

A successful answer is `{"data": …, "meta": …}`, a list adds `pagination`; an error is
`{"error": {"code", "message", "requestId"}}`.
"""
METHODS = ("get", "post", "put", "patch", "delete")
_ERRORS = {
    "400": "The body is not well-formed JSON (MALFORMED_REQUEST).",
    "401": "The key, the signature or the timestamp is invalid "
    "(INVALID_API_KEY, INVALID_SIGNATURE, TIMESTAMP_EXPIRED).",
    "403": "The key lacks the scope or its allowlist excludes this address, or the connection is not encrypted (INSUFFICIENT_SCOPE, IP_NOT_ALLOWED, TLS_REQUIRED).",
    "404": "There is no such resource (RESOURCE_NOT_FOUND).",
    "405": "The resource does not support this method (METHOD_NOT_ALLOWED).",
    "409": "The state of the resource does not allow this (CONFLICT).",
    "411": "A body needs a Content-Length (LENGTH_REQUIRED).",
    "412": "If-Match names another version (PRECONDITION_FAILED).",
    "413": "The body is too large (PAYLOAD_TOO_LARGE).",
    "415": "The body is of no media type that this operation takes (UNSUPPORTED_MEDIA_TYPE).",
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
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "The API key, `cqek_…`.",
    },
    "timestamp": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Timestamp",
        "description": "Unix time in seconds, at most 300 from the server's clock.",
    },
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Signature",
        "description": "Hex HMAC-SHA256 of the six lines of `CQE1-HMAC-SHA256`, explained above.",
    },
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "The API key without a signature, where the key's `signaturePolicy` allows it.",
    },
}
_PARAMETERS = {
    "Nonce": {
        "in": "header",
        "name": "X-Nonce",
        "required": False,
        "description": "Part of the signature: a text that differs in each request, which is then "
        "accepted only once. A key with `requireNonce` needs it on requests that change something.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,64}$"},
    },
    "IdempotencyKey": {
        "in": "header",
        "name": "Idempotency-Key",
        "required": False,
        "description": "A key of yours for this request. For a day, a repetition with the same key "
        "gets the same answer and has no further effect.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    },
    "IfMatch": {
        "in": "header",
        "name": "If-Match",
        "required": False,
        "description": "ETag of the version that you have read; 412 if there is a newer one.",
        "schema": {"type": "string"},
    },
}
# Parameters of each method, in addition to the nonce.
_BY_METHOD = {"post": ("IdempotencyKey",), "patch": ("IfMatch",)}
_WEBHOOK_HEADERS = {
    "webhook-id": "Id of the event, the same in every repetition.",
    "webhook-timestamp": "Unix time of this attempt, in seconds.",
    "webhook-signature": "`v1,` and the base64 HMAC-SHA256 of id, timestamp and body, joined by "
    "dots, as in Standard Webhooks; two of them while a secret is rotated.",
    "X-Webhook-Signature": "Hex HMAC-SHA256 of the body, keyed with the whole signing secret.",
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


def build_document(
    app: Flask, blueprints: Sequence[Blueprint], event_types: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document; it contains the first base path of each blueprint.

    Args:
        event_types: `event`, `description`, `schema` and `example` of each type.
    """
    # Not our application: flask-smorest would register its error handlers there.
    api = _DocumentedApi(
        Flask("openapi"),
        spec_kwargs={"title": _TITLE, "version": __version__, "openapi_version": "3.1.0"},
    )
    for blueprint in blueprints:
        blueprint.register_views_in_doc(api, app, api.spec, name=blueprint.name, parameters=None)
        api.spec.tag({"name": blueprint.name, "description": blueprint.description})
    document: dict[str, Any] = api.spec.to_dict()
    document["info"]["description"] = _ABOUT
    document["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    document["info"]["contact"] = {"name": "The operator of this service"}
    document["servers"] = [{"url": "/"}]
    components = document["components"]
    # flask-smorest's own paging, which no endpoint uses.
    del components["schemas"]["PaginationMetadata"]
    components["securitySchemes"] = _SCHEMES
    components["parameters"] = _PARAMETERS
    components["headers"] = {
        name: {"description": text, "schema": schema} for name, (text, schema) in _HEADERS.items()
    }
    components["responses"] = {f"Error{status}": _error(status) for status in _ERRORS}
    views = _views(app)
    for path, item in document["paths"].items():
        _type_path_ids(item)
        for method in METHODS:
            if method in item:
                _complete(item[method], method, views[method.upper(), path])
                _require_body(item[method], components["schemas"])
    document["paths"]["/health"] = {"get": _health()}
    document["webhooks"] = {entry["event"]: {"post": _webhook(entry)} for entry in event_types}
    document["tags"] += [{"name": name, "description": text} for name, text in _MORE_TAGS.items()]
    _translate_patterns(document)
    exemplify(components["schemas"])
    add_samples(document)
    describe(document)
    return document


def _complete(operation: dict[str, Any], method: str, view: Any) -> None:
    operation["operationId"] = camel_case(view.__name__)
    bearer = operation["tags"][0] in _BEARER_TAGS
    operation["description"] = _description(operation.get("description", ""), view, bearer=bearer)
    operation["security"] = [_SIGNED, *([{"bearer": []}] if bearer else [])]
    responses = operation["responses"]
    responses.pop("default", None)
    if method == "put":
        responses["201"] = {**responses["200"], "description": "Created"}
    operation.setdefault("parameters", []).extend(
        {"$ref": f"#/components/parameters/{name}"}
        for name in ("Nonce", *_BY_METHOD.get(method, ()))
    )
    statuses = [*_ALWAYS, "409", "412"] if method != "get" else list(_ALWAYS)
    statuses += _WITH_BODY if method in ("post", "put", "patch") else ("422",)
    for status in {*statuses, *(_ERRORS.keys() & {str(status) for status in responses})}:
        responses[status] = {"$ref": f"#/components/responses/Error{status}"}
    for status, response in responses.items():
        if "$ref" not in response and status[0] == "2":
            response["headers"] = _header_references()
    operation["responses"] = dict(sorted(responses.items()))


def _description(own: str, view: Any, *, bearer: bool) -> str:
    sentences = [own, f"Needs the scope `{view.required_scope}`."]
    if getattr(view, "rate_policy", None) == EXPENSIVE:
        sentences.append("Counts against `CQE_RATE_LIMIT_EXPENSIVE`.")
    if bearer:
        sentences.append("Accepts Bearer unless the key's `signaturePolicy` is `required`.")
    return " ".join(sentence for sentence in sentences if sentence)


def _require_body(operation: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    """Require a body where its schema has required fields; elsewhere none is an empty object."""
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        name = content["schema"]["$ref"].rsplit("/", 1)[1]
        operation["requestBody"]["required"] = bool(schemas[name].get("required"))


def _webhook(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": camel_case("receive_" + re.sub(r"\W", "_", entry["event"])),
        "summary": entry["description"],
        "description": "Sent to the subscriptions of this event. Answer 2xx within ten seconds; "
        "anything else is tried again after one and after five minutes. An event may come more "
        "than once.",
        "tags": ["webhooks"],
        "security": [],
        "parameters": [
            {
                "in": "header",
                "name": name,
                "required": True,
                "description": text,
                "schema": {"type": "string"},
            }
            for name, text in _WEBHOOK_HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": deepcopy(entry["schema"]),
                    "examples": {"sample": {"value": entry["example"]}},
                }
            },
        },
        "responses": {"2XX": {"description": "The event was received."}},
    }


def _type_path_ids(item: dict[str, Any]) -> None:
    for parameter in item.get("parameters", []):
        typed = "pattern" in parameter["schema"]
        if parameter["in"] == "path" and parameter["name"].endswith("_id") and not typed:
            parameter["schema"] = {
                "type": "string",
                "pattern": f"^{IdConverter.regex}$",
            }


def _error(status: str) -> dict[str, Any]:
    return {
        "description": _ERRORS[status],
        "headers": _header_references(),
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "examples": error_samples(status),
            }
        },
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
