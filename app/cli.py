"""Command line: the list of all commands; each package defines its own."""

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
from app.operations.failure import plain_errors
from app.operations.judge_command import judge
from app.operations.processes.model_server import model
from app.people.cli import users
from app.privacy.cli import privacy
from app.reviews.cli import calibrate
from app.scorecards.cli import scorecards
from app.usage.cli import usage
from app.webhooks.cli import webhooks

# They need no application: they work before the first start, without master keys and without a
# database. `flask` finds them as entry points of the package.
STANDALONE_COMMANDS: tuple[click.Command, ...] = (
    commands.up,
    commands.worker,
    commands.doctor,
    commands.db,
    judge,
    model,
    commands.openapi,
    signing,
)
# They find their runtime through the application (see `app.web.current`).
APP_COMMANDS: tuple[click.Command, ...] = (
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
    commands.secrets,
    usage,
    users,
    webhooks,
)


def register(app: Flask) -> None:
    """Register the commands that need the application with `flask`."""
    for command in APP_COMMANDS:
        app.cli.add_command(command)


@click.group("cqe")
@click.version_option(__version__)
@click.pass_context
def cqe(context: click.Context) -> None:
    """CQE, the Conversation Quality Evaluation Service: `up` starts everything."""
    asks_for_help = "--help" in sys.argv
    if (
        context.invoked_subcommand in {command.name for command in APP_COMMANDS}
        and not asks_for_help
    ):
        with plain_errors():
            app = create_app(settings_here())
        context.with_resource(app.app_context())


for _command in (*STANDALONE_COMMANDS, *APP_COMMANDS):
    cqe.add_command(_command)


def main() -> None:
    """Run the `cqe` command."""
    cqe.main(prog_name="cqe")


if __name__ == "__main__":
    main()
