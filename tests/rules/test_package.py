"""Package: the wheel has every file that the service reads."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_file_next_to_the_code_is_packaged() -> None:
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
        if file.is_file() and file.suffix != ".py" and file.parent.name != "__pycache__"
    }
    assert there - packaged == set()


def test_every_pattern_names_files() -> None:
    for package, patterns in SETUPTOOLS["package-data"].items():
        folder = ROOT / package.replace(".", "/")
        assert [pattern for pattern in patterns if not any(folder.glob(pattern))] == []
