"""The OpenAPI document and a page to read it with, with no asset from another host."""

from pathlib import Path

from flask import Blueprint, Response, jsonify, render_template, send_from_directory

from app.web.api import Api

_ASSETS = Path(__file__).parent / "static"
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


def docs_blueprint(api: Api) -> Blueprint:
    """Build the public pages over one API object."""
    pages = Blueprint("docs", __name__)

    @pages.get("/openapi.json")
    def document() -> Response:
        return jsonify(api.spec.to_dict())

    @pages.get("/docs")
    def page() -> Response:
        response = Response(render_template("docs.html"), content_type="text/html; charset=utf-8")
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    @pages.get("/docs/<name>")
    def asset(name: str) -> Response:
        return send_from_directory(_ASSETS, name)

    return pages
