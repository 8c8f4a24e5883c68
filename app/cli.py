"""Command line `cqe`: every command of the packages, imported when it is used."""

import sys

import click
from flask import Flask

from app import __version__
from app.packages import command_paths, load_command

# `flask` finds these as entry points of the package.
STANDALONE_COMMANDS = command_paths(standalone=True)
# These find their runtime through the application (see `app.web.current`).
APP_COMMANDS = command_paths(standalone=False)


def register(app: Flask) -> None:
    """Register the commands that need the application with `flask`."""
    for name, path in APP_COMMANDS.items():
        app.cli.add_command(load_command(path), name)


class CommandGroup(click.Group):
    """A group that imports a command when it is used, and all of them for the list of commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(STANDALONE_COMMANDS | APP_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        path = (STANDALONE_COMMANDS | APP_COMMANDS).get(cmd_name)
        return load_command(path) if path else None


@click.group("cqe", cls=CommandGroup)
@click.version_option(__version__)
@click.pass_context
def cqe(context: click.Context) -> None:
    """CQE, the Conversation Quality Evaluation Service: `up` starts everything."""
    if context.invoked_subcommand in APP_COMMANDS and "--help" not in sys.argv:
        # Not at the top: the application takes longer to import than most commands to run.
        from app.factory import create_app  # noqa: PLC0415
        from app.operations.environment import settings_here  # noqa: PLC0415
        from app.operations.failure import plain_errors  # noqa: PLC0415
        from app.operations.start_checks import require_usable  # noqa: PLC0415
        from app.web.current import runtime_of  # noqa: PLC0415

        with plain_errors():
            app = create_app(settings_here())
            require_usable(runtime_of(app))
        context.with_resource(app.app_context())


def main() -> None:
    """Run the `cqe` command."""
    cqe.main(prog_name="cqe")


if __name__ == "__main__":
    main()
