"""The OpenAPI document and a page to read it with, with no asset from another host."""

from functools import cache
from pathlib import Path
from typing import Any

import click
import orjson
from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    jsonify,
    render_template,
    send_from_directory,
)

from app.web.api import Api
from app.web.openapi import build_document

_ASSETS = Path(__file__).parent / "static"
_EXTENSION = "cqe-openapi"
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


def install(app: Flask, api: Api) -> None:
    """Serve the pages, and keep the document at hand for `flask openapi`."""
    pages = Blueprint("docs", __name__)

    @cache
    def built() -> dict[str, Any]:
        return build_document(app, api)

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


@click.command("openapi")
@click.option("--write", type=click.Path(dir_okay=False), help="Write to this file instead.")
def openapi(write: str | None) -> None:
    """Print the OpenAPI document, generated from the code."""
    document = current_app.extensions[_EXTENSION]()
    text = orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    if write:
        Path(write).write_text(text + "\n")
    else:
        click.echo(text)
