"""Command line `cqe`: every command of the packages, imported when it is used."""

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from app import __version__
from app.core.commands import COMMAND

if TYPE_CHECKING:
    from flask import Flask


@dataclass(frozen=True, slots=True)
class Command:
    """A command or a group of commands.

    Attributes:
        path: where it is, as `module:function`.
        standalone: whether it works before the first start, without master keys and a database.
    """

    path: str
    standalone: bool = False

    @property
    def module(self) -> str:
        return self.path.partition(":")[0]

    @property
    def function(self) -> str:
        return self.path.partition(":")[2]

    def load(self) -> click.Command:
        command: click.Command = resolve_name(self.path)
        return command


COMMANDS = {
    "agreement": Command("app.reviews.cli:agreement"),
    "analytics": Command("app.analytics.cli:analytics"),
    "calibrate": Command("app.reviews.cli:calibrate"),
    "db": Command("app.operations.database_commands:db", standalone=True),
    "demo": Command("app.demo.cli:demo"),
    "doctor": Command("app.operations.commands:doctor", standalone=True),
    "exports": Command("app.analytics.cli:exports"),
    "import": Command("app.imports.cli:import_"),
    "keys": Command("app.api_keys.cli:keys"),
    "master-key": Command("app.operations.commands:master_key", standalone=True),
    "metrics": Command("app.operations.start_commands:metrics", standalone=True),
    "model": Command("app.operations.processes.model_server:model", standalone=True),
    "openapi": Command("app.operations.commands:openapi", standalone=True),
    "privacy": Command("app.privacy.cli:privacy"),
    "secrets": Command("app.operations.commands:secrets"),
    "signing": Command("app.api_keys.signing_cli:signing", standalone=True),
    "up": Command("app.operations.start_commands:up", standalone=True),
    "usage": Command("app.usage.cli:usage"),
    "users": Command("app.people.cli:users"),
    "webhooks": Command("app.webhooks.cli:webhooks"),
    "worker": Command("app.operations.start_commands:worker", standalone=True),
}


def register(app: "Flask") -> None:
    """Register with `flask` the commands that need the application.

    `flask` finds the others as entry points of the package.
    """
    for name, command in COMMANDS.items():
        if not command.standalone:
            app.cli.add_command(command.load(), name)


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

    def __init__(
        self,
        name: str,
        *,
        summaries: Callable[[], Mapping[str, str]],
        load: Callable[[str], click.Command | None],
        **attributes: Any,
    ) -> None:
        """Name the group.

        Args:
            summaries: returns the first sentence of the help of each command, by its name.
            load: imports a command; None without one of that name.
        """
        super().__init__(name, **attributes)
        self._summaries = summaries
        self._load = load

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._summaries())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a mistyped one gets the nearest name."""
        near = get_close_matches(args[0], self._summaries(), n=1)
        if near and args[0] not in self._summaries():
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a name without importing the commands."""
        names = [
            CompletionItem(name, help=summary)
            for name, summary in sorted(self._summaries().items())
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._summaries().items()))


def _load(name: str) -> click.Command | None:
    command = COMMANDS.get(name)
    if command is None:
        return None
    summaries = _subcommands(command)
    if not summaries:
        return command.load()
    return LazyGroup(
        name,
        summaries=lambda: summaries,
        load=partial(_load_subcommand, command),
        help=_summary(command),
        callback=None if command.standalone else _open_application,
    )


def _load_subcommand(command: Command, name: str) -> click.Command | None:
    group = command.load()
    assert isinstance(group, click.Group)  # noqa: S101 - only groups have subcommands
    return group.commands.get(name)


# The help is read in the source: the imports of a command may take more than a second.


def _summary(command: Command) -> str:
    return _first_sentence(_functions(command)[command.function])


def _subcommands(command: Command) -> dict[str, str]:
    """Map the commands of a group to their summaries; empty for one that does something itself."""
    functions = _functions(command)
    group = _decorator(functions[command.function], "click.group")
    if group is None or group.keywords:
        return {}
    calls = {
        name: _decorator(node, f"{command.function}.command") for name, node in functions.items()
    }
    return {
        ast.literal_eval(call.args[0]): _first_sentence(functions[name])
        for name, call in calls.items()
        if call is not None
    }


def _functions(command: Command) -> dict[str, ast.FunctionDef]:
    source = Path(__file__).parents[1].joinpath(*command.module.split(".")).with_suffix(".py")
    body = ast.parse(source.read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def _decorator(function: ast.FunctionDef, name: str) -> ast.Call | None:
    calls = (call for call in function.decorator_list if isinstance(call, ast.Call))
    return next((call for call in calls if ast.unparse(call.func) == name), None)


def _first_sentence(function: ast.FunctionDef) -> str:
    sentence, period, _ = " ".join((ast.get_docstring(function) or "").split()).partition(". ")
    return sentence + "." if period else sentence


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
    from app.operations.start_checks import require_ready  # noqa: PLC0415
    from app.web.current import runtime_of  # noqa: PLC0415

    with plain_errors():
        app = create_app(settings_here())
        hosts.follow_clock(runtime_of(app).db.engine)
        require_ready(runtime_of(app))
    context.with_resource(app.app_context())


@click.pass_context
def _open_application_of_single_command(context: click.Context) -> None:
    command = COMMANDS[context.invoked_subcommand or ""]
    if not command.standalone and not _subcommands(command):
        _open_application()


cqe = LazyGroup(
    "cqe",
    summaries=lambda: {name: _summary(command) for name, command in COMMANDS.items()},
    load=_load,
    help="CQE, the Conversation Quality Evaluation Service: `up` starts everything.",
    callback=_open_application_of_single_command,
    params=[],
)
click.version_option(__version__)(cqe)


def _typed() -> str:
    return "cqe" if Path(sys.argv[0]).name == "cqe" else COMMAND


def main() -> None:
    """Run the `cqe` command; expected failures are printed without a traceback."""
    try:
        cqe.main(prog_name=_typed(), complete_var="_CQE_COMPLETE")
    except Exception:
        # Not at the top: few commands need it.
        from app.operations.failure import plain_errors  # noqa: PLC0415

        with plain_errors():
            raise


if __name__ == "__main__":
    main()
