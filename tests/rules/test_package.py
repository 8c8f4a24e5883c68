"""Package: the wheel has every file that the service reads."""

import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_data_file_of_the_code_is_packaged() -> None:
    packaged = {
        file
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for file in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    there = {
        file
        for folder in ("app", "migrations")
        for file in (ROOT / folder).rglob("*")
        if file.is_file()
        and file.suffix not in (".py", ".md")
        and file.parent.name != "__pycache__"
    }
    assert there - packaged == set()


def test_every_pattern_names_files() -> None:
    for package, patterns in SETUPTOOLS["package-data"].items():
        folder = ROOT / package.replace(".", "/")
        assert [pattern for pattern in patterns if not any(folder.glob(pattern))] == []


def test_the_private_method_that_lazy_rules_replace_is_of_this_version() -> None:
    assert version("werkzeug").startswith("3.1.")
