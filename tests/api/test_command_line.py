"""The command line: its help costs little and says what the commands say."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from app.cli import COMMANDS, cqe
from app.packages import load_command

HEAVY = ("flask", "sqlalchemy", "duckdb", "numpy", "redis", "marshmallow")
LIGHT_HELP = [[], ["up"], ["worker"], *([name] for name in COMMANDS if COMMANDS[name].subcommands)]


def first_sentence(command: click.Command) -> str:
    assert command.help
    sentence, period, _ = " ".join(command.help.split()).partition(". ")
    return sentence + "." if period else sentence


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_what_its_own_help_says(name: str) -> None:
    described, command = COMMANDS[name], load_command(COMMANDS[name].path)
    assert described.summary == first_sentence(command)
    if described.subcommands:
        assert isinstance(command, click.Group)
        # The group itself does nothing: its commands can be called without it.
        assert command.callback is not None
        assert (command.params, command.invoke_without_command) == ([], False)
        assert described.subcommands == {
            name: first_sentence(below) for name, below in command.commands.items()
        }


def test_help_imports_no_library_of_the_service() -> None:
    script = (
        "import sys\nfrom click.testing import CliRunner\nfrom app.cli import cqe\n"
        f"for arguments in {LIGHT_HELP!r}:\n"
        "    shown = CliRunner().invoke(cqe, [*arguments, '--help'])\n"
        "    assert shown.exit_code == 0 and 'Usage:' in shown.output, arguments\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert printed.stdout == "[]\n"


def test_a_command_that_does_not_exist_is_refused() -> None:
    for arguments in (["keyz"], ["signing", "vector"]):
        refused = CliRunner().invoke(cqe, arguments)
        assert (refused.exit_code, "No such command" in refused.output) == (2, True)
