"""Application factory: the Flask application with its blueprints behind authentication."""

import os

from flask import Flask

from app.analytics import routes as analytics
from app.analytics.exports.downloads import ExportFiles
from app.api_keys import routes as api_keys
from app.api_keys.authentication import Authentication
from app.audio_files import routes as audio_files
from app.audio_files.uploads.audio_objects import AudioObjects
from app.calibration import routes as calibration
from app.campaigns import routes as campaigns
from app.conversations import routes as conversations
from app.core.database.schema_revision import is_at_head
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.metrics.request_counts import RequestCounts
from app.core.process import heartbeat, log
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.dashboard import install as dashboard
from app.engagements import routes as engagements
from app.evaluations import routes as evaluations
from app.imports import routes as imports
from app.privacy import routes as privacy
from app.reviews import routes as reviews
from app.scorecards import routes as scorecards
from app.usage import routes as usage
from app.voice_calls import routes as voice_calls
from app.web import current, errors, request_id, request_times
from app.web.api import Blueprint, OrjsonProvider, register
from app.web.health import Health
from app.web.openapi import pages
from app.web.transfers.endpoints import Blobs
from app.webhooks import routes as webhooks
from app.wiring import build_runtime

BLUEPRINTS: tuple[Blueprint, ...] = (
    audio_files.blp,
    conversations.blp,
    voice_calls.blp,
    engagements.blp,
    api_keys.blp,
    usage.blp,
    webhooks.blp,
    evaluations.blp,
    reviews.blp,
    calibration.blp,
    scorecards.blp,
    campaigns.blp,
    imports.blp,
    analytics.blp,
    privacy.blp,
)


def create_app(settings: Settings | None = None, runtime: Runtime | None = None) -> Flask:
    """Build the web application; nothing connects before the first request.

    Args:
        runtime: the runtime of a process that has one already; by default a new one.
    """
    settings = settings or Settings.from_env(os.environ)
    log.configure(settings.log_level)
    runtime = runtime or build_runtime(settings)
    app = Flask("app", static_folder=None)
    current.install(app, runtime)
    app.json = OrjsonProvider(app)
    app.url_map.merge_slashes = False
    if settings.metrics_listen is not None:
        request_times.install(app, RequestCounts(settings.data_dir))
    request_id.install(app)
    errors.install(app)
    Authentication(runtime).install(app)
    _health(runtime).install(app)
    Blobs(runtime, {"aud": AudioObjects(runtime), "exp": ExportFiles(runtime)}).install(app)
    register(app, BLUEPRINTS)
    pages.install(app, BLUEPRINTS)
    if settings.dashboard:
        dashboard.install(app, runtime)
    return app


def _health(runtime: Runtime) -> Health:
    return Health(
        {
            "database": lambda: _database_is_ready(runtime.db),
            "queue": lambda: not runtime.doorbell.configured or runtime.doorbell.answers,
            "worker": lambda: heartbeat.is_alive(runtime.settings.data_dir),
            "storage": runtime.storage.writable,
        },
        vital=("database",),
    )


def _database_is_ready(db: Database) -> bool:
    try:
        with db.reading() as session:
            return is_at_head(session)
    except ServiceUnavailable:
        return False
