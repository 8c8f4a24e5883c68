"""Every command on a damaged database, and without its master keys: each says what to do, in no traceback."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from app.cli import cqe
from app.core.settings import Settings
from app.operations import first_start
from tests.sampling import sample
from tests.walks.service_process import run_to_end

# They do not read the database, or ask first.
INDEPENDENT = {"judge", "master-key", "metrics", "model", "openapi", "signing"}
ASKING = {"db discard-secrets", "db restore", "privacy erase"}
# These need no keys.
KEYLESS = {"db check", "db upgrade"}
# These make the tables of an empty database, or wait for them.
STARTS = {"worker", "db upgrade"}
KEYS, FILE = "master.keys", "cqe.db"
# What each damage leaves in a file, None for no file.
DAMAGES: dict[str, tuple[str, bytes | None]] = {
    "overwritten": (FILE, b"this is no database " * 500),
    "empty": (FILE, b""),
    "keys lost": (KEYS, None),
    "keys overwritten": (KEYS, b"nonsense"),
}


def leaves(group: click.Group, *path: str) -> Iterator[str]:
    """Yield each command of a group, with a value for each argument that it requires."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, *path, name)
        elif command is not None and " ".join((*path, name)) not in ASKING:
            yield " ".join((*path, name, *required(command)))


def required(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if not parameter.required:
            continue
        if isinstance(parameter, click.Option):
            yield parameter.opts[0]
        if isinstance(parameter.type, click.Choice):
            yield str(parameter.type.choices[0])
        elif isinstance(parameter.type, click.Path) and parameter.type.exists:
            yield os.devnull
        else:
            yield "1"


def cases() -> Iterator[str]:
    for command in leaves(cqe):
        for damage, (file, _) in DAMAGES.items():
            starts = damage == "empty" and command in STARTS
            needs_file = file == FILE or command not in KEYLESS
            if command.split()[0] not in INDEPENDENT and needs_file and not starts:
                yield f"{damage}: {command}"


@pytest.fixture(scope="module")
def intact(module_data_dir: Path) -> Path:
    """The folder of a service that was started once."""
    first_start.prepare(Settings(data_dir=module_data_dir), access_file=None)
    return module_data_dir


@pytest.mark.sqlite_only("damages the file")
@pytest.mark.parametrize("case", sample(sample([*cases()])))
def test_a_command_says_what_to_do(intact: Path, tmp_path: Path, case: str) -> None:
    damage, _, command = case.partition(": ")
    folder = Path(shutil.copytree(intact, tmp_path / "instance"))
    name, content = DAMAGES[damage]
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    code, text = run_to_end(folder, *command.split())
    assert code in (1, 2), text
    assert "Traceback" not in text
    assert "docs/" in text or "put a copy" in text, text
