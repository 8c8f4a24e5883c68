"""OpenAPI document: generated from the decorators, completed with what all endpoints share."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import flask_smorest
from flask import Flask

from app import __version__
from app.core.json_documents import camel_case
from app.web.api import BASES, Blueprint, IdConverter
from app.web.errors import ErrorSchema
from app.web.openapi.examples import add_samples, error_samples, exemplify
from app.web.principal import EXPENSIVE

_FOLDER = Path(__file__).parent
METHODS = ("get", "post", "put", "patch", "delete")
_ALWAYS = ("401", "403", "404", "405", "414", "429", "500", "503")
_WITH_BODY = ("400", "411", "413", "415", "422")
# Parameters of each method, in addition to the nonce.
_BY_METHOD = {"post": ("IdempotencyKey",), "patch": ("IfMatch",)}
_SIGNED: dict[str, list[str]] = {"apiKey": [], "timestamp": [], "signature": []}
_BEARER_TAGS = ("engagements", "usage")


class _DocumentedApi(flask_smorest.Api):
    ERROR_SCHEMA = ErrorSchema


def build_document(
    app: Flask, blueprints: Sequence[Blueprint], event_types: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the document; it contains the first base path of each blueprint."""
    # Not our application: flask-smorest would register its error handlers there.
    api = _DocumentedApi(
        Flask("openapi"),
        spec_kwargs={"title": "CQE API", "version": __version__, "openapi_version": "3.1.0"},
    )
    for blueprint in blueprints:
        blueprint.register_views_in_doc(api, app, api.spec, name=blueprint.name, parameters=None)
        api.spec.tag({"name": blueprint.name, "description": blueprint.description})
    document: dict[str, Any] = api.spec.to_dict()
    document["info"] |= _parts()["info"]
    document["servers"] = [{"url": "/"}]
    components = document["components"]
    # flask-smorest's own paging, which no endpoint uses.
    del components["schemas"]["PaginationMetadata"]
    components |= _parts()["components"]
    components["responses"] = {f"Error{status}": _error(status) for status in _parts()["errors"]}
    views = _views(app)
    for path, item in document["paths"].items():
        _type_path_ids(item)
        for method in METHODS:
            if method in item:
                _complete(item[method], method, views[method.upper(), path])
                _require_body(item[method], components["schemas"])
    document["paths"]["/health"] = {"get": _parts()["health"]}
    document["webhooks"] = {entry["event"]: {"post": _webhook(entry)} for entry in event_types}
    document["tags"] += _parts()["tags"]
    _translate_limits(document)
    exemplify(components["schemas"])
    add_samples(document)
    _describe(document)
    return document


@cache
def _parts() -> dict[str, Any]:
    """Return the parts of the document that depend on no endpoint."""
    return tomllib.loads((_FOLDER / "fixed_parts.toml").read_text())


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
    statuses = list(_ALWAYS)
    statuses += ["409"] if method != "get" else []
    statuses += ["412"] if method == "patch" else []
    statuses += _WITH_BODY if method in ("post", "put", "patch") else ("422",)
    for status in {*statuses, *(_parts()["errors"].keys() & {str(status) for status in responses})}:
        responses[status] = {"$ref": f"#/components/responses/Error{status}"}
    for status, response in responses.items():
        if "$ref" not in response and status[0] == "2":
            response["headers"] = _header_references()
            if view.has_etag:
                response["headers"]["ETag"] = _parts()["etag"]
    if view.has_etag and method == "get":
        operation["parameters"].append({"$ref": "#/components/parameters/IfNoneMatch"})
        responses["304"] = _parts()["not_modified"]
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
            for name, text in _parts()["webhookHeaders"].items()
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
        "description": _parts()["errors"][status],
        "headers": _header_references(),
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "examples": error_samples(status),
            }
        },
    }


def _translate_limits(node: Any) -> None:
    """Write patterns as in ECMA-262, the syntax of OpenAPI, and the sizes of objects as such."""
    members = node.values() if isinstance(node, dict) else node
    if isinstance(node, dict):
        if str(node.get("pattern", "")).endswith(r"\Z"):
            node["pattern"] = f"^{node['pattern'].removesuffix(chr(92) + 'Z')}$"
        if node.get("type") == "object" and "maxLength" in node:
            node["maxProperties"] = node.pop("maxLength")
    for member in members:
        if isinstance(member, dict | list):
            _translate_limits(member)


def _header_references() -> dict[str, Any]:
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in _parts()["components"]["headers"]
    }


def _views(app: Flask) -> dict[tuple[str, str], Any]:
    views: dict[tuple[str, str], Any] = {}
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:[a-z]+:)?([a-z_]+)>", r"{\1}", str(rule))
        if path.startswith(BASES[0]):
            for method in rule.methods or ():
                views[method, path] = app.view_functions[rule.endpoint]
    return views


def _describe(document: dict[str, Any]) -> None:
    """Describe every field and parameter of the document that does not describe itself."""
    descriptions = tomllib.loads((_FOLDER / "descriptions.toml").read_text())
    for name, schema in document["components"]["schemas"].items():
        _describe_fields(schema, name, descriptions["fields"])
    for item in document["webhooks"].values():
        _describe_fields(item, "Event", descriptions["fields"])
    for item in document["paths"].values():
        _describe_fields(item, "", descriptions["fields"])
        for holder in item.values():
            parameters = holder if isinstance(holder, list) else holder.get("parameters", ())
            for parameter in parameters:
                if "name" in parameter and "description" not in parameter:
                    parameter["description"] = descriptions["parameters"][parameter["name"]]


def _describe_fields(node: Any, owner: str, descriptions: dict[str, str]) -> None:
    if isinstance(node, dict) and isinstance(node.get("properties"), dict):
        for field, shape in node["properties"].items():
            for name in (f"{owner}.{field}", field, camel_case(field)):
                if name in descriptions:
                    shape.setdefault("description", descriptions[name])
    members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    for member in members:
        _describe_fields(member, owner, descriptions)
