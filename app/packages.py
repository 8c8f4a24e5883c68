"""Registry of the packages: their tables, their routes and their commands.

Modules are imported by name when they are needed: migrations import the tables only, a command
imports only what it uses, and help imports none of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

    from app.web.api import Blueprint


@dataclass(frozen=True, slots=True)
class Command:
    """A command or a group of commands, with the help that is printed without importing it.

    Attributes:
        path: where it is, as `module:function` relative to its package.
        summary: the first sentence of its help.
        subcommands: the summaries of a group's commands; empty for a single command and for a
            group that does something itself.
        standalone: whether it works before the first start, without master keys and a database.
    """

    path: str
    summary: str
    subcommands: Mapping[str, str] = field(default_factory=dict)
    standalone: bool = False


@dataclass(frozen=True, slots=True)
class Package:
    """A package of `app`, with module names relative to it.

    Attributes:
        tables: the modules that define tables.
        has_routes: whether the module `routes` has a blueprint `blp`.
        commands: the commands by name.
    """

    name: str
    tables: tuple[str, ...] = ()
    has_routes: bool = False
    commands: Mapping[str, Command] = field(default_factory=dict)


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
        commands={
            "keys": Command(
                "cli:keys",
                "Make, list, revoke and rotate API keys.",
                {
                    "create": "Make a key and print its two strings.",
                    "list": "List the keys with their scopes and last use.",
                    "revoke": "Revoke a key for good.",
                    "rotate": "Replace both strings of a key and print the new ones.",
                },
            ),
            "signing": Command(
                "signing_cli:signing",
                "Help with writing clients.",
                {
                    "vectors": "Print test vectors: requests with their strings to sign and signatures."
                },
                standalone=True,
            ),
        },
    ),
    Package(
        "usage",
        _MODELS,
        has_routes=True,
        commands={
            "usage": Command(
                "cli:usage",
                "Show usage and the plan.",
                {
                    "show": "Show calls, webhook deliveries and storage of a billing period, and the "
                    "calls of each key."
                },
            )
        },
    ),
    Package(
        "webhooks",
        _MODELS,
        has_routes=True,
        commands={
            "webhooks": Command(
                "cli:webhooks",
                "List subscriptions and deliveries; send failed ones again.",
                {
                    "deliveries": "Show the latest deliveries of a subscription.",
                    "drain": "Send what is due until nothing is; exit code 1 when the time runs out.",
                    "list": "List the subscriptions and since when they fail.",
                    "recover": "Send every event again whose latest delivery failed, was canceled "
                    "or was missed.",
                    "redeliver": "Send the event of a delivery once more, in one attempt.",
                },
            )
        },
    ),
    Package(
        "evaluations",
        ("models", "judging.model_answers"),
        has_routes=True,
        commands={
            "evaluations": Command(
                "cli:evaluations",
                "List and show evaluations; evaluate conversations again.",
                {
                    "list": "List evaluations, the latest first.",
                    "re-evaluate": "Evaluate the same transcripts again: one evaluation, or all that "
                    "match the filters.",
                    "show": "Show the results of one evaluation; --json prints all of them.",
                },
            )
        },
    ),
    Package(
        "reviews",
        _MODELS,
        has_routes=True,
        commands={
            "calibrate": Command(
                "cli:calibrate",
                "Calibrate the scores of an engagement to the scores that people gave.",
            )
        },
    ),
    Package("calibration", _MODELS, has_routes=True),
    Package(
        "scorecards",
        _MODELS,
        has_routes=True,
        commands={
            "scorecards": Command(
                "cli:scorecards",
                "List, show, check and add scorecards (docs/scorecards.md).",
                {
                    "add-version": "Add FILE as the next version of a scorecard; new evaluations "
                    "use it from now on.",
                    "create": "Add FILE as a scorecard.",
                    "lint": "Check FILE for errors and warnings; the exit status is 1 on errors.",
                    "list": "List the default and the custom scorecards.",
                    "show": "Print the definition of a scorecard: a file to edit and add.",
                },
            )
        },
    ),
    Package("campaigns", _MODELS, has_routes=True),
    Package(
        "imports",
        _MODELS,
        has_routes=True,
        commands={
            "import": Command(
                "cli:import_",
                "Import conversations, calls and recordings from a file, a folder, or standard input.",
            )
        },
    ),
    Package(
        "analytics",
        _MODELS,
        has_routes=True,
        commands={
            "agreement": Command(
                "cli:agreement",
                "Show how well the judge agrees with people's reviews, and people with each other.",
            ),
            "analytics": Command(
                "cli:analytics",
                "Rebuild the analytics tables, or check them.",
                {
                    "check": "Compare facts with evaluations, and parts with facts; exit code 1 when "
                    "anything differs.",
                    "rebuild": "Rebuild facts and parts from the evaluations; safe while the service "
                    "runs.",
                },
            ),
            "exports": Command(
                "cli:exports",
                "Export a dataset, or run the exports that are due.",
                {
                    "create": "Write the rows of DATASET into FILE, whose ending names the format.",
                    "run": "Run the exports that are due in this process, until none is left.",
                },
            ),
            "executives": Command(
                "cli:executives",
                "Compare agents and bots.",
                {"list": "List agents and bots with their scores, people and bots ranked apart."},
            ),
        },
    ),
    Package(
        "privacy",
        _MODELS,
        has_routes=True,
        commands={
            "privacy": Command(
                "cli:privacy",
                "Erase personal data.",
                {
                    "erase": "Erase the texts and recordings of CUSTOMER_REF now; scores and metrics "
                    "stay."
                },
            )
        },
    ),
    Package(
        "core",
        (
            "database.idempotency",
            "database.key_checks",
            "database.schema_revision",
            "hosts",
            "request_limits.nonces",
            "storage.deployment",
        ),
    ),
    Package("dashboard", _MODELS),
    Package("directory", _MODELS),
    Package("events", _MODELS),
    Package(
        "people",
        _MODELS,
        commands={
            "users": Command(
                "cli:users",
                "Create, list and change the people who use the dashboard.",
                {
                    "create": "Create a user and print a one-time password.",
                    "disable": "Disable the account of NAME and end its sessions.",
                    "enable": "Enable a disabled account again.",
                    "list": "List the users with their role and last sign-in.",
                    "reset": "Print a new one-time password for NAME and end the sessions of that "
                    "user.",
                    "role": "Give NAME another role, from the next request on.",
                    "sign-out": "End every session of NAME.",
                },
            )
        },
    ),
    Package("redaction", _MODELS),
    Package(
        "demo",
        commands={"demo": Command("cli:demo", "Load sample data of a small call centre.")},
    ),
    Package(
        "operations",
        commands={
            "db": Command(
                "database_commands:db",
                "Upgrade, back up, restore or check the database.",
                {
                    "after-restore": "Erase again what was erased since the backup that another tool "
                    "has restored.",
                    "backup": "Write a backup into the new FOLDER, while the service runs.",
                    "check": "Check the revision, the tables and columns, and the database file.",
                    "discard-secrets": "Give up the secrets whose master keys are lost for good, so "
                    "that the service starts again.",
                    "restore": "Replace database, recordings and exports by the backup in FOLDER.",
                    "upgrade": "Upgrade the tables to the revision that this version needs.",
                },
                standalone=True,
            ),
            "doctor": Command(
                "commands:doctor",
                "Check the installation and print what is wrong.",
                standalone=True,
            ),
            "judge": Command(
                "judge_command:judge",
                "Train the models of the embedded judge.",
                {"train": "Fit the models to labelled data and write them with a manifest."},
                standalone=True,
            ),
            "metrics": Command(
                "start_commands:metrics",
                "Answer Prometheus for the processes of this host, where no worker runs.",
                standalone=True,
            ),
            "model": Command(
                "processes.model_server:model",
                "Run a language model of your own for the judge.",
                {"serve": "Serve the model in FILE (GGUF) until it is stopped."},
                standalone=True,
            ),
            "openapi": Command(
                "commands:openapi",
                "Print the OpenAPI document, which depends on the code alone and on no setting.",
                standalone=True,
            ),
            "secrets": Command(
                "commands:secrets",
                "Maintain the encrypted secrets of the database.",
                {"rewrap": "Encrypt every stored secret again, with the first master key."},
            ),
            "up": Command(
                "start_commands:up",
                "Start the whole service: tables, queue, web server and worker.",
                standalone=True,
            ),
            "worker": Command(
                "start_commands:worker", "Run the worker without a web server.", standalone=True
            ),
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


def commands() -> dict[str, Command]:
    """Map the names of all commands to them; their paths are complete."""
    return {
        name: replace(command, path=f"app.{package.name}.{command.path}")
        for package in PACKAGES
        for name, command in package.commands.items()
    }


def load_command(path: str) -> "click.Command":
    """Import a command."""
    command: click.Command = resolve_name(path)
    return command
