"""The commands, grouped by noun; each room's group lives in the room and is only listed here."""

import sys

import click
from flask import Flask

from app import __version__
from app.analytics.cli import agreement, analytics, exports
from app.api_keys.cli import keys
from app.api_keys.signing_cli import signing
from app.demo.cli import demo
from app.evaluations.cli import evaluations
from app.factory import create_app
from app.imports.cli import import_
from app.operations import commands
from app.operations.environment import settings_here
from app.operations.failure import told_plainly
from app.operations.openapi_command import openapi
from app.operations.secrets_commands import secrets
from app.privacy.cli import privacy
from app.reviews.cli import calibrate
from app.scorecards.authoring_cli import scorecards
from app.scorecards.cli import judge
from app.usage.cli import usage
from app.webhooks.cli import webhooks

# They work without an application: before the first start, without master keys, and with a database
# that is away. `flask` finds them as entry points of the package.
OPERATIONS: tuple[click.Command, ...] = (
    commands.up,
    commands.worker,
    commands.doctor,
    commands.db,
    judge,
    openapi,
    signing,
)
# They find their runtime through the application (see `app.web.current`).
ROOMS: tuple[click.Command, ...] = (
    agreement,
    analytics,
    calibrate,
    demo,
    evaluations,
    exports,
    import_,
    keys,
    privacy,
    scorecards,
    secrets,
    usage,
    webhooks,
)


def register(app: Flask) -> None:
    """Give the rooms' commands to the application, and so to `flask`."""
    for command in ROOMS:
        app.cli.add_command(command)


@click.group("cqe")
@click.version_option(__version__)
@click.pass_context
def cqe(context: click.Context) -> None:
    """CQE, the Conversation Quality Evaluation Service: `up` starts everything."""
    asks_for_help = "--help" in sys.argv
    if context.invoked_subcommand in {command.name for command in ROOMS} and not asks_for_help:
        with told_plainly():
            app = create_app(settings_here())
        context.with_resource(app.app_context())


for _command in (*OPERATIONS, *ROOMS):
    cqe.add_command(_command)


def main() -> None:
    """Run the `cqe` command."""
    cqe.main(prog_name="cqe")


if __name__ == "__main__":
    main()
