"""Registry of the packages: the modules that define their tables, and their routes.

Modules are imported by name when they are needed: migrations import the tables only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.web.api import Blueprint

# Packages with routes (`blp` of the module `routes`) and tables, in the order of the API's
# documentation.
_OF_API = (
    "audio_files",
    "conversations",
    "voice_calls",
    "engagements",
    "api_keys",
    "usage",
    "webhooks",
    "alerts",
    "evaluations",
    "reviews",
    "agents",
    "coaching",
    "scorecards",
    "campaigns",
    "directory",
    "imports",
    "analytics",
    "privacy",
)
_TABLES = (
    *(f"app.{package}.models" for package in _OF_API),
    "app.core.database.idempotency",
    "app.core.database.key_checks",
    "app.core.database.schema_revision",
    "app.core.hosts",
    "app.core.request_limits.nonces",
    "app.core.storage.deployment",
    "app.evaluations.judging.model_answers",
    "app.events.models",
    "app.intake.models",
    "app.people.models",
    "app.redaction.models",
)


def load_tables() -> None:
    """Import every module with tables, so that SQLAlchemy knows all of them."""
    for module in _TABLES:
        import_module(module)


def load_blueprints() -> tuple["Blueprint", ...]:
    return tuple(import_module(f"app.{package}.routes").blp for package in _OF_API)
