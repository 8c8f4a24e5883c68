"""Compiled templates: kept in a folder, and done without where it cannot be written."""

from pathlib import Path

from jinja2 import DictLoader, Environment

from app.dashboard.install import TemplateCache


def rendered(folder: Path, source: str) -> str:
    environment = Environment(
        loader=DictLoader({"page.html": source}), bytecode_cache=TemplateCache(str(folder))
    )
    return environment.get_template("page.html").render(name="Nora")


def test_a_compiled_template_is_kept_until_its_source_changes(tmp_path: Path) -> None:
    assert rendered(tmp_path, "Hello {{ name }}") == "Hello Nora"
    [kept] = tmp_path.iterdir()
    written = kept.stat().st_mtime_ns
    assert rendered(tmp_path, "Hello {{ name }}") == "Hello Nora"
    assert kept.stat().st_mtime_ns == written
    assert rendered(tmp_path, "Goodbye {{ name }}") == "Goodbye Nora"


def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    assert rendered(tmp_path / "missing", "Hello {{ name }}") == "Hello Nora"
