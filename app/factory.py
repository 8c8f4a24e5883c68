"""The application factory: builds the parts, then opens the rooms behind the gate."""

import os
from collections.abc import Callable
from typing import Any

from flask import Flask

from app.analytics import routes as analytics
from app.analytics.engine import facts
from app.analytics.hooks import ExportFiles
from app.api_keys import routes as api_keys
from app.api_keys.gate import Gate
from app.audio_files import routes as audio_files
from app.audio_files.hooks import Recordings
from app.calibration import routes as calibration
from app.campaigns import routes as campaigns
from app.conversations import routes as conversations
from app.conversations import service as conversation_service
from app.conversations.first_contact import first_contact_resolution
from app.core import heartbeat, log
from app.core.db import Database
from app.core.errors import ServiceUnavailable
from app.core.request_figures import RequestFigures
from app.core.runtime import Runtime, build_runtime
from app.core.schema import is_at_head
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
    parts = build_runtime(settings)
    outbox.on_publish(fan_out)
    settled.on_settled(conversation_service.note_evaluation)
    settled.on_settled(assessments.note_evaluation)
    settled.on_settled(facts.record)
    results.on_read(first_contact_resolution)
    preparing.check_with(checking.check)
    guard.install(Guard(settings.redaction, parts.keyring))
    app = Service("app", static_folder=None, template_folder="web/templates")
    app.json = OrjsonProvider(app)
    app.url_map.merge_slashes = False
    if settings.metrics_listen is not None:
        request_times.install(app, RequestFigures(settings.data_dir))
    request_id.install(app)
    errors.install(app)
    Gate(parts).install(app)
    _health(parts).install(app)
    Blobs(parts, {"aud": Recordings(parts), "exp": ExportFiles(parts)}).install(app)
    register(app, ROOMS)
    docs.install(app, ROOMS)
    return app


def _health(parts: Runtime) -> Health:
    return Health(
        {
            "database": lambda: _database_is_ready(parts.db),
            "queue": lambda: not parts.doorbell.configured or parts.doorbell.answers,
            "worker": lambda: heartbeat.is_alive(parts.settings.data_dir),
            "storage": parts.storage.writable,
        },
        vital=("database",),
    )


def _database_is_ready(db: Database) -> bool:
    try:
        with db.reading() as session:
            return is_at_head(session)
    except ServiceUnavailable:
        return False
