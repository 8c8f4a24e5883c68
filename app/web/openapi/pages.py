"""OpenAPI document, and the page /docs that shows it without files from other hosts."""

import json
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, render_template, send_from_directory

from app.web import api
from app.web.current import current_runtime
from app.web.openapi.collection import build_collection
from app.web.openapi.document import build_document
from app.web.public_address import public_address

_ASSETS = Path(__file__).parent / "static"
_EXTENSION = "cqe-openapi"
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


class _Document:
    """The OpenAPI document of an application.

    Building it takes as long as the rest of a start, so it is built once, at the first request.
    """

    def __init__(
        self,
        app: Flask,
        blueprints: Sequence[api.Blueprint],
        event_types: Sequence[Mapping[str, Any]],
    ) -> None:
        self._app = app
        self._blueprints = blueprints
        self._event_types = event_types
        self._lock = threading.Lock()

    @property
    def body(self) -> bytes:
        """The document as JSON."""
        with self._lock:
            return self._body

    @cached_property
    def _body(self) -> bytes:
        document = build_document(self._app, self._blueprints, self._event_types)
        return self._app.json.dumps(document).encode()


def install(
    app: Flask, blueprints: Sequence[api.Blueprint], event_types: Sequence[Mapping[str, Any]]
) -> None:
    """Register /openapi.json and /docs, with the collection for Postman below it."""
    pages = Blueprint("docs", __name__, template_folder="templates")
    built = _Document(app, blueprints, event_types)

    @pages.get("/openapi.json")
    def document() -> Response:
        return Response(built.body, content_type="application/json")

    @pages.get("/docs")
    def page() -> Response:
        response = Response(render_template("docs.html"), content_type="text/html; charset=utf-8")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @pages.get("/docs/cqe.postman_collection.json")
    def collection() -> Response:
        document = json.loads(built.body)
        base = public_address(current_runtime().settings)
        return jsonify(build_collection(document, base))

    @pages.get("/docs/<path:name>")
    def asset(name: str) -> Response:
        return send_from_directory(_ASSETS, name)

    app.extensions[_EXTENSION] = built
    app.register_blueprint(pages)


def document_of(app: Flask) -> bytes:
    """Return the document of an application, as JSON."""
    built: _Document = app.extensions[_EXTENSION]
    return built.body
