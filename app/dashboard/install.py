"""Installation of the dashboard into the application: its pages, its templates, and its static files."""

import gzip
import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, g, request
from jinja2 import FileSystemBytecodeCache, StrictUndefined
from jinja2.bccache import Bucket
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.wrappers import Response as AnyResponse

from app.core import errors, hosts
from app.core.clock import iso_utc
from app.core.commands import COMMAND
from app.core.runtime import Runtime
from app.dashboard import responses, words
from app.dashboard.blueprint import public
from app.dashboard.forms import current_notice
from app.dashboard.navigation import sections_for
from app.dashboard.pages import load_blueprints
from app.dashboard.queries import carried_chips, page_url
from app.dashboard.views import formatting
from app.people import gate
from app.people.cookies import is_secure
from app.people.gate import Gate, find_person
from app.web.api import is_under_a_base

# Paths of other parts of the service, whose answers are for programs.
_NOT_PAGES = ("/storage/", "/docs/", "/assets/")
_PAUSE_S = 0.02
_FOREVER = "public, max-age=31536000, immutable"
_FOLDER = Path(__file__).parent / "static"


class TemplateCache(FileSystemBytecodeCache):
    """Compiled templates in a folder; where it cannot be written, they are compiled at each start."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a compiled template, if possible."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


def install(app: Flask, runtime: Runtime) -> None:
    assets = Assets()
    dashboard = Blueprint("dashboard", __name__, template_folder="templates")
    dashboard.before_request(Gate(runtime).admit)
    dashboard.after_request(responses.finish)
    dashboard.register_error_handler(errors.AppError, responses.render_error)
    dashboard.register_error_handler(HTTPException, responses.render_http_error)
    dashboard.register_error_handler(Exception, responses.render_unexpected)
    dashboard.add_url_rule("/assets/<version>/<path:name>", "asset", assets.serve)
    for pages in load_blueprints():
        dashboard.register_blueprint(pages)
    app.register_blueprint(dashboard)
    _prepare_templates(app, runtime, assets)
    _answer_unrouted(app, runtime)


def compile_templates(app: Flask) -> None:
    """Compile every template, so that the first visit of a page takes no longer than the next.

    The first time takes half a second; the pauses let requests pass.
    """
    for name in app.jinja_env.list_templates(extensions=["html"]):
        time.sleep(_PAUSE_S)
        app.jinja_env.get_template(name)


class Assets:
    """Every file below `static`, read once at start.

    All share one hash in their address, so that a script can import another by its name.
    """

    def __init__(self) -> None:
        files = sorted(file for file in _FOLDER.rglob("*") if file.is_file())
        self._files = {file.relative_to(_FOLDER).as_posix(): _read(file) for file in files}
        digest = hashlib.sha256()
        for name, asset in self._files.items():
            digest.update(f"{name}:{len(asset.plain)}:".encode() + asset.plain)
        self._version = digest.hexdigest()[:12]

    def url(self, name: str) -> str:
        """Return the address of a file.

        Raises:
            KeyError: there is no such file.
        """
        self._files[name]
        return f"/assets/{self._version}/{name}"

    @public
    def serve(self, version: str, name: str) -> Response:
        """Answer with a file of this version, compressed where the browser takes that."""
        asset = self._files.get(name)
        if asset is None or version != self._version:
            raise errors.NotFound()
        zipped = request.accept_encodings["gzip"] > 0
        response = Response(asset.compressed if zipped else asset.plain)
        response.content_type = asset.content_type
        response.headers["Cache-Control"] = _FOREVER
        response.vary.add("Accept-Encoding")
        if zipped:
            response.content_encoding = "gzip"
        return response


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, plain and compressed."""

    content_type: str
    plain: bytes
    compressed: bytes


@cache
def _read(file: Path) -> Asset:
    plain = file.read_bytes()
    kind, _ = guess_type(file.name)
    content_type = f"{kind}; charset=utf-8" if kind else "application/octet-stream"
    return Asset(content_type, plain, gzip.compress(plain, mtime=0))


def _prepare_templates(app: Flask, runtime: Runtime, assets: Assets) -> None:
    # Where Python keeps this module.
    app.jinja_env.bytecode_cache = TemplateCache(str(Path(cache_from_source(__file__)).parent))
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(
        asset=assets.url,
        carried_chips=carried_chips,
        command=COMMAND,
        page_url=page_url,
        words=words.text_of,
        zip=zip,
    )
    app.jinja_env.filters.update(
        age=formatting.age,
        amount=formatting.amount,
        browser_name=formatting.browser_name,
        duration=formatting.duration,
        time_between=formatting.time_between,
        full_day=formatting.full_day,
        iso=iso_utc,
        moment=formatting.moment,
        number=formatting.number,
        percent=formatting.percent,
    )

    @app.template_filter("local_time")
    def local_time(moment: Any) -> str:
        return formatting.local_time(moment, g.person.timezone)

    @app.context_processor
    def frame() -> dict[str, Any]:
        person = g.get("person")
        return {
            "person": person,
            "navigation": list(sections_for(person)) if person else [],
            "form_token": gate.form_token(person.token) if person else "",
            "notice": current_notice(),
            "errors": g.get("errors", {}),
            "refused": g.get("refused", ""),
            "is_insecure": not is_secure(request, runtime.settings),
            "worker_is_alive": hosts.is_running(runtime.db, hosts.WORKER),
        }


def _answer_unrouted(app: Flask, runtime: Runtime) -> None:
    @app.before_request
    def answer_unrouted() -> AnyResponse | None:
        failure = request.routing_exception
        if (
            not isinstance(failure, (NotFound, MethodNotAllowed))
            or is_under_a_base(request.path)
            or request.path.startswith(_NOT_PAGES)
            or "text/html" not in request.headers.get("Accept", "")
        ):
            return None
        g.person = find_person(request, runtime)
        return responses.finish(app.make_response(responses.render_http_error(failure)))
