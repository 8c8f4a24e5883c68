"""Command line `cqe`: every command of the packages, imported when it is used."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from app import __version__
from app.packages import Command, commands, load_command

if TYPE_CHECKING:
    from flask import Flask

COMMANDS = commands()


def register(app: "Flask") -> None:
    """Register with `flask` the commands that need the application.

    `flask` finds the others as entry points of the package.
    """
    for name, command in COMMANDS.items():
        if not command.standalone:
            app.cli.add_command(load_command(command.path), name)


class LazyGroup(click.Group):
    """A group that knows the summaries of its commands, and imports a command when it is used."""

    def __init__(
        self,
        name: str,
        *,
        summaries: Mapping[str, str],
        load: Callable[[str], click.Command],
        **attributes: Any,
    ) -> None:
        super().__init__(name, **attributes)
        self._summaries = summaries
        self._load = load

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        return self._load(cmd_name) if cmd_name in self._summaries else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and summaries of all commands."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._summaries.items()))


def _load(name: str) -> click.Command:
    command = COMMANDS[name]
    if not command.subcommands:
        return load_command(command.path)
    return LazyGroup(
        name,
        summaries=command.subcommands,
        load=partial(_load_subcommand, command),
        help=command.summary,
        callback=None if command.standalone else _open_application,
    )


def _load_subcommand(command: Command, name: str) -> click.Command:
    group = load_command(command.path)
    assert isinstance(group, click.Group)  # noqa: S101 - only groups have subcommands
    return group.commands[name]


@click.pass_context
def _open_application(context: click.Context) -> None:
    """Give a command the application, in which it finds the runtime."""
    if "--help" in sys.argv:
        return
    # Not at the top: the application takes longer to import than most commands to run.
    from app.core import hosts  # noqa: PLC0415
    from app.factory import create_app  # noqa: PLC0415
    from app.operations.environment import settings_here  # noqa: PLC0415
    from app.operations.failure import plain_errors  # noqa: PLC0415
    from app.operations.start_checks import require_usable  # noqa: PLC0415
    from app.web.current import runtime_of  # noqa: PLC0415

    with plain_errors():
        app = create_app(settings_here())
        hosts.follow_clock(runtime_of(app).db.engine)
        require_usable(runtime_of(app))
    context.with_resource(app.app_context())


@click.pass_context
def _open_application_of_single_command(context: click.Context) -> None:
    command = COMMANDS[context.invoked_subcommand or ""]
    if not command.standalone and not command.subcommands:
        _open_application()


cqe = LazyGroup(
    "cqe",
    summaries={name: command.summary for name, command in COMMANDS.items()},
    load=_load,
    help="CQE, the Conversation Quality Evaluation Service: `up` starts everything.",
    callback=_open_application_of_single_command,
    params=[],
)
click.version_option(__version__)(cqe)


def main() -> None:
    """Run the `cqe` command."""
    cqe.main(prog_name="cqe")


if __name__ == "__main__":
    main()
