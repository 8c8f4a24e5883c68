"""The OpenAPI document and a page to read it with, with no asset from another host."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from flask import (
    Blueprint,
    Flask,
    Response,
    jsonify,
    render_template,
    send_from_directory,
)

from app.web import api
from app.web.openapi import build_document

_ASSETS = Path(__file__).parent / "static"
_EXTENSION = "cqe-openapi"
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


def install(app: Flask, blueprints: Sequence[api.Blueprint]) -> None:
    """Serve the pages, and keep the document at hand for `document_of`.

    It is built when it is asked for: that takes as long as all the rest of a start.
    """
    pages = Blueprint("docs", __name__)

    @cache
    def built() -> dict[str, Any]:
        return build_document(app, blueprints)

    @pages.get("/openapi.json")
    def document() -> Response:
        return jsonify(built())

    @pages.get("/docs")
    def page() -> Response:
        response = Response(render_template("docs.html"), content_type="text/html; charset=utf-8")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @pages.get("/docs/<path:name>")
    def asset(name: str) -> Response:
        return send_from_directory(_ASSETS, name)

    app.extensions[_EXTENSION] = built
    app.register_blueprint(pages)


def document_of(app: Flask) -> dict[str, Any]:
    """Return the document of an application."""
    built: dict[str, Any] = app.extensions[_EXTENSION]()
    return built
