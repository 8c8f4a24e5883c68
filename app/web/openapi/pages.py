"""Endpoints of the documentation: /openapi.json, the page /docs, and the collection for Postman."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, render_template, send_from_directory

from app.web import api
from app.web.addresses import public_address
from app.web.current import current_runtime
from app.web.openapi.document import METHODS, build_document

_ASSETS = Path(__file__).parent / "static"
SIGN_SCRIPT = Path(__file__).with_name("sign_request.js")
_EXTENSION = "cqe-openapi"
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_ABOUT = """\
Set the variables `apiKey` and `secret` of this collection to an API key and its secret. Every request
is signed before it is sent. Ids in paths are variables of the request, under *Params*.
"""
_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def install(
    app: Flask, blueprints: Sequence[api.Blueprint], event_types: Sequence[Mapping[str, Any]]
) -> None:
    """Register /openapi.json and /docs, with the collection for Postman below it."""
    pages = Blueprint("docs", __name__, template_folder="templates")

    # Building it takes as long as the rest of a start, and `cache` alone lets several threads do it.
    lock = threading.Lock()

    @cache
    def build() -> bytes:
        return app.json.dumps(build_document(app, blueprints, event_types)).encode()

    def built() -> bytes:
        with lock:
            return build()

    @pages.get("/openapi.json")
    def document() -> Response:
        return Response(built(), content_type="application/json")

    @pages.get("/docs")
    def page() -> Response:
        response = Response(render_template("docs.html"), content_type="text/html; charset=utf-8")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @pages.get("/docs/cqe.postman_collection.json")
    def collection() -> Response:
        document = json.loads(built())
        base = public_address(current_runtime().settings)
        return jsonify(_collection(document, base))

    @pages.get("/docs/<path:name>")
    def asset(name: str) -> Response:
        return send_from_directory(_ASSETS, name)

    app.extensions[_EXTENSION] = built
    app.register_blueprint(pages)


def document_of(app: Flask) -> bytes:
    """Return the document of an application, as JSON."""
    built: Callable[[], bytes] = app.extensions[_EXTENSION]
    return built()


def _collection(document: Mapping[str, Any], base: str) -> dict[str, Any]:
    """Return the collection for Postman, with a folder for each tag; each request signs itself."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                tag = item[method]["tags"][0]
                values = {
                    parameter["name"]: parameter.get("example", "")
                    for parameter in item.get("parameters", ())
                }
                folders.setdefault(tag, []).append(_request(path, method, item[method], values))
    return {
        "info": {"name": document["info"]["title"], "description": _ABOUT, "schema": _SCHEMA},
        "item": [{"name": tag, "item": requests} for tag, requests in folders.items()],
        "event": [
            {"listen": "prerequest", "script": {"exec": SIGN_SCRIPT.read_text().splitlines()}}
        ],
        "variable": [
            {"key": "base", "value": base},
            {"key": "apiKey", "value": ""},
            {"key": "secret", "value": ""},
        ],
    }


def _request(
    path: str, method: str, operation: Mapping[str, Any], values: Mapping[str, str]
) -> dict[str, Any]:
    parts = [
        f":{part[1:-1]}" if part.startswith("{") else part for part in path.strip("/").split("/")
    ]
    request: dict[str, Any] = {
        "method": method.upper(),
        "description": operation.get("description", ""),
        "url": {
            "raw": "{{base}}/" + "/".join(parts),
            "host": ["{{base}}"],
            "path": parts,
            "query": [
                {
                    "key": parameter["name"],
                    "value": "",
                    "description": parameter.get("description", ""),
                    "disabled": True,
                }
                for parameter in operation.get("parameters", ())
                if parameter.get("in") == "query"
            ],
            "variable": [{"key": name, "value": value} for name, value in values.items()],
        },
    }
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        request["header"] = [{"key": "Content-Type", "value": "application/json"}]
        body = json.dumps(content.get("example", {}), indent=2, ensure_ascii=False)
        request["body"] = {"mode": "raw", "raw": body}
    return {"name": operation["summary"], "request": request}
