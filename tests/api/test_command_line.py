"""The command line: its help costs little and says what the commands say."""

import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from app.cli import COMMANDS, cqe

HEAVY = ("flask", "sqlalchemy", "duckdb", "numpy", "redis", "marshmallow")
# These groups do something themselves, or are no groups: their help imports them.
IMPORTED = {
    "agreement",
    "calibrate",
    "demo",
    "doctor",
    "import",
    "master-key",
    "metrics",
    "openapi",
    "up",
    "worker",
}
LIGHT_HELP = [[], ["up"], ["worker"], *([name] for name in COMMANDS if name not in IMPORTED)]


def first_sentence(command: click.Command) -> str:
    assert command.help
    sentence, period, _ = " ".join(command.help.split()).partition(". ")
    return sentence + "." if period else sentence


def help_of(*arguments: str) -> str:
    return " ".join(CliRunner().invoke(cqe, [*arguments, "--help"]).output.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_the_commands_themselves_say(name: str) -> None:
    command = COMMANDS[name].load()
    assert f" {name} {first_sentence(command)}" in help_of()
    if name not in IMPORTED:
        assert isinstance(command, click.Group)
        # The group itself does nothing: its commands can be called without it.
        assert command.callback is not None
        assert (command.params, command.invoke_without_command) == ([], False)
        shown = help_of(name)
        assert shown.startswith(f"Usage: cqe {name} [OPTIONS] COMMAND [ARGS]... {command.help}")
        commands = sorted(command.commands.items())
        described = [f"{below} {first_sentence(one)}" for below, one in commands]
        assert shown.endswith(" ".join(["Commands:", *described]))


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


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["keyz"], "'keyz'. Did you mean 'keys'?"),
        (["signing", "vector"], "'vector'. Did you mean 'vectors'?"),
        (["xylophone"], "'xylophone'."),
    ],
)
def test_a_command_that_does_not_exist_gets_the_nearest_name(typed: list[str], hint: str) -> None:
    refused = CliRunner().invoke(cqe, typed)
    assert refused.exit_code == 2
    assert refused.output.endswith(f"Error: No such command {hint}\n")


def test_usage_says_what_was_typed_and_names_are_completed() -> None:
    assert typed("keys").startswith("Usage: ./run keys [OPTIONS] COMMAND")
    asked = {"_CQE_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    assert typed(**asked, COMP_WORDS="./run ke").split() == ["plain,keys"]
    assert "_run_completion" in typed(_CQE_COMPLETE="zsh_source")


def typed(*arguments: str, **variables: str) -> str:
    """Output of the command, called as `run` calls it."""
    shown = subprocess.run(
        [sys.executable, "-P", "-m", "app.cli", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return shown.stdout + shown.stderr
