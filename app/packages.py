"""Registry of the packages: their tables, their routes and their commands.

Modules are imported by name when they are needed: migrations import the tables only, and a command
imports only what it uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from app.web.api import Blueprint


@dataclass(frozen=True, slots=True)
class Package:
    """A package of `app`, with module names relative to it.

    Attributes:
        tables: the modules that define tables.
        has_routes: whether the module `routes` has a blueprint `blp`.
        commands: the commands that need the application, as `module:function`.
        standalone_commands: the commands that work before the first start, without master keys and
            without a database.
    """

    name: str
    tables: tuple[str, ...] = ()
    has_routes: bool = False
    commands: Mapping[str, str] = field(default_factory=dict)
    standalone_commands: Mapping[str, str] = field(default_factory=dict)


_MODELS = ("models",)
# In the order of the API's documentation.
PACKAGES: tuple[Package, ...] = (
    Package("audio_files", _MODELS, has_routes=True),
    Package("conversations", _MODELS, has_routes=True),
    Package("voice_calls", _MODELS, has_routes=True),
    Package("engagements", _MODELS, has_routes=True),
    Package(
        "api_keys",
        _MODELS,
        has_routes=True,
        commands={"keys": "cli:keys"},
        standalone_commands={"signing": "signing_cli:signing"},
    ),
    Package("usage", _MODELS, has_routes=True, commands={"usage": "cli:usage"}),
    Package("webhooks", _MODELS, has_routes=True, commands={"webhooks": "cli:webhooks"}),
    Package(
        "evaluations",
        ("models", "judging.model_answers"),
        has_routes=True,
        commands={"evaluations": "cli:evaluations"},
    ),
    Package("reviews", _MODELS, has_routes=True, commands={"calibrate": "cli:calibrate"}),
    Package("calibration", _MODELS, has_routes=True),
    Package("scorecards", _MODELS, has_routes=True, commands={"scorecards": "cli:scorecards"}),
    Package("campaigns", _MODELS, has_routes=True),
    Package("imports", _MODELS, has_routes=True, commands={"import": "cli:import_"}),
    Package(
        "analytics",
        _MODELS,
        has_routes=True,
        commands={
            "agreement": "cli:agreement",
            "analytics": "cli:analytics",
            "exports": "cli:exports",
        },
    ),
    Package("privacy", _MODELS, has_routes=True, commands={"privacy": "cli:privacy"}),
    Package("core", ("database.idempotency", "database.key_checks")),
    Package("dashboard", _MODELS),
    Package("directory", _MODELS),
    Package("events", _MODELS),
    Package("people", _MODELS, commands={"users": "cli:users"}),
    Package("redaction", _MODELS),
    Package("demo", commands={"demo": "cli:demo"}),
    Package(
        "operations",
        commands={"secrets": "commands:secrets"},
        standalone_commands={
            "up": "commands:up",
            "worker": "commands:worker",
            "doctor": "commands:doctor",
            "db": "commands:db",
            "openapi": "commands:openapi",
            "judge": "judge_command:judge",
            "model": "processes.model_server:model",
        },
    ),
)


def load_tables() -> None:
    """Import every module with tables, so that SQLAlchemy knows all of them."""
    for package in PACKAGES:
        for module in package.tables:
            import_module(f"app.{package.name}.{module}")


def load_blueprints() -> tuple["Blueprint", ...]:
    """Return the blueprints of the API."""
    return tuple(
        import_module(f"app.{package.name}.routes").blp
        for package in PACKAGES
        if package.has_routes
    )


def command_paths(*, standalone: bool) -> dict[str, str]:
    """Map the names of the commands to `app.package.module:function`."""
    return {
        name: f"app.{package.name}.{path}"
        for package in PACKAGES
        for name, path in (package.standalone_commands if standalone else package.commands).items()
    }


def load_command(path: str) -> "click.Command":
    """Import a command."""
    command: click.Command = resolve_name(path)
    return command
