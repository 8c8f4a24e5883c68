"""Application factory: the Flask application with its blueprints behind authentication."""

import os
from functools import partial

from flask import Flask

from app.analytics.exports.downloads import ExportFiles
from app.api_keys.authentication import Authentication
from app.audio_files.pairs import SideObjects
from app.audio_files.uploads import AudioObjects, MutedObjects
from app.core.process import log
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.dashboard import install as dashboard
from app.events.schemas import described_types
from app.imports.uploads import ImportFiles
from app.intake.routes import Intake
from app.packages import load_blueprints
from app.system.parts import PARTS
from app.web import cors, current, errors, request_record
from app.web.api import OrjsonProvider, register
from app.web.health import Health
from app.web.openapi import pages
from app.web.transfers import BlobOwner, Blobs
from app.wiring import build_runtime


def create_app(settings: Settings | None = None, runtime: Runtime | None = None) -> Flask:
    """Build the web application; nothing connects before the first request.

    Args:
        runtime: the runtime of a process that has one already; by default a new one.
    """
    settings = settings or Settings.from_env(os.environ)
    log.configure(settings.log_level, settings.log_format)
    runtime = runtime or build_runtime(settings)
    app = Flask("app", static_folder=None)
    current.install(app, runtime)
    app.json = OrjsonProvider(app)
    app.url_map.merge_slashes = False
    request_record.install(app, runtime.counts)
    errors.install(app)
    if settings.cors_origins:
        cors.install(app, settings.cors_origins)
    Authentication(runtime).install(app)
    _health(runtime).install(app)
    owners: dict[str, BlobOwner] = {
        "aud": AudioObjects(runtime),
        **dict.fromkeys(("agent", "customer"), SideObjects(runtime)),
        "mute": MutedObjects(runtime),
        "exp": ExportFiles(runtime),
        "imp": ImportFiles(runtime),
    }
    Blobs(runtime, owners).install(app)
    Intake(runtime).install(app)
    blueprints = load_blueprints()
    register(app, blueprints)
    pages.install(app, blueprints, described_types())
    if settings.dashboard:
        dashboard.install(app, runtime)
    return app


def _health(runtime: Runtime) -> Health:
    return Health(
        {part.name: partial(part.works, runtime) for part in PARTS},
        vital={part.name for part in PARTS if part.is_vital},
        of_host={part.name for part in PARTS if part.is_of_host},
        late={part.name for part in PARTS if part.is_late},
    )
