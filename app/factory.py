"""The application factory: builds the runtime, then opens the rooms behind the authentication."""

import os
from collections.abc import Callable
from typing import Any

from flask import Flask

from app.analytics import facts
from app.analytics import routes as analytics
from app.analytics.hooks import ExportFiles
from app.api_keys import routes as api_keys
from app.api_keys.authentication import Authentication
from app.audio_files import routes as audio_files
from app.audio_files.hooks import Recordings
from app.calibration import routes as calibration
from app.campaigns import routes as campaigns
from app.conversations import routes as conversations
from app.conversations import service as conversation_service
from app.conversations.first_contact import first_contact_resolution
from app.core.database.schema_revision import is_at_head
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.process import heartbeat, log
from app.core.request_figures import RequestFigures
from app.core.runtime import Runtime, build_runtime
from app.core.settings import Settings
from app.engagements import routes as engagements
from app.evaluations import results, settled
from app.evaluations import routes as evaluations
from app.events import outbox
from app.imports import checking, preparing
from app.imports import routes as imports
from app.privacy import routes as privacy
from app.redaction import guard
from app.redaction.guard import Guard
from app.reviews import routes as reviews
from app.scorecards import routes as scorecards
from app.usage import routes as usage
from app.voice_calls import assessments
from app.voice_calls import routes as voice_calls
from app.web import docs, errors, request_id, request_times
from app.web.api import Blueprint, OrjsonProvider, register
from app.web.blobs import Blobs
from app.web.health import Health
from app.web.url_rules import FindingRule
from app.webhooks import routes as webhooks
from app.webhooks.deliveries import fan_out

ROOMS: tuple[Blueprint, ...] = (
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


class Service(Flask):
    """The application; no view or hook of it is asynchronous."""

    url_rule_class = FindingRule

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as it is; Flask would inspect each one on every request."""
        return func


def create_app(settings: Settings | None = None) -> Flask:
    """Build the web application; nothing connects before the first request."""
    settings = settings or Settings.from_env(os.environ)
    log.configure(settings.log_level)
    runtime = build_runtime(settings)
    outbox.on_publish(fan_out)
    settled.on_settled(conversation_service.note_evaluation)
    settled.on_settled(assessments.note_evaluation)
    settled.on_settled(facts.note)
    results.on_read(first_contact_resolution)
    preparing.check_with(checking.check)
    guard.install(Guard(settings.redaction, runtime.keyring))
    app = Service("app", static_folder=None, template_folder="web/templates")
    app.json = OrjsonProvider(app)
    app.url_map.merge_slashes = False
    if settings.metrics_listen is not None:
        request_times.install(app, RequestFigures(settings.data_dir))
    request_id.install(app)
    errors.install(app)
    Authentication(runtime).install(app)
    _health(runtime).install(app)
    Blobs(runtime, {"aud": Recordings(runtime), "exp": ExportFiles(runtime)}).install(app)
    register(app, ROOMS)
    docs.install(app, ROOMS)
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
