"""The house rules that linters cannot see."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask import Flask

from app import tables  # noqa: F401
from app.api_keys.authentication import PUBLIC_ENDPOINTS
from app.core.database.session import Table
from app.core.settings import Settings
from app.operations import migrating
from app.people.roles import ADMIN, ROLES

ROOT = Path(__file__).parent.parent
TEMPLATES = ROOT / "app" / "dashboard" / "templates"
SOURCES = sorted(
    [*ROOT.glob("app/**/*.py"), *ROOT.glob("training/*.py"), ROOT / "wsgi.py", ROOT / "worker.py"]
)
DOORS = {"routes.py", "jobs.py", "cli.py"}


def calls(file: Path, name: str) -> Iterator[int]:
    """Yield the lines of a file that call a method or function of this name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            found = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if found == name:
                yield node.lineno


def test_only_the_database_commits() -> None:
    found = [file.name for file in SOURCES for _ in calls(file, "commit")]
    assert set(found) <= {"db.py"}


def test_nobody_speaks_the_old_query_language() -> None:
    assert not [file for file in SOURCES if list(calls(file, "query"))]


PUBLIC_PAGES = {"dashboard.asset", "dashboard.sign_in.form", "dashboard.sign_in.submit"}


def test_every_endpoint_has_a_scope_or_is_named_public(flask_app: Flask) -> None:
    unguarded = {
        rule.endpoint
        for rule in flask_app.url_map.iter_rules()
        if not hasattr(flask_app.view_functions[rule.endpoint], "required_scope")
    }
    assert unguarded <= PUBLIC_ENDPOINTS | PUBLIC_PAGES


def test_every_scope_of_a_page_is_one_of_a_role(flask_app: Flask) -> None:
    scopes = {
        flask_app.view_functions[rule.endpoint].required_scope  # type: ignore[attr-defined]
        for rule in flask_app.url_map.iter_rules()
        if rule.endpoint.startswith("dashboard.") and rule.endpoint not in PUBLIC_PAGES
    }
    assert scopes <= ROLES[ADMIN]


@pytest.mark.parametrize("file", sorted(TEMPLATES.rglob("*.html")), ids=lambda file: file.name)
def test_a_template_has_no_inline_style_script_or_unescaped_text(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"\sstyle\s*=|\son\w+\s*=|<style|javascript:", text, re.IGNORECASE)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text, re.IGNORECASE)
    assert not re.search(r"\|\s*safe\b|autoescape\s+false|Markup", text)


def test_no_script_writes_markup() -> None:
    scripts = [file.read_text() for file in (TEMPLATES.parent / "static").rglob("*.js")]
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\("
    assert not [script for script in scripts if re.search(forbidden, script)]


def test_the_assets_of_the_dashboard_keep_their_budget() -> None:
    static = TEMPLATES.parent / "static"
    assert (static / "app.css").stat().st_size <= 16 * 1024
    for script in static.rglob("*.js"):
        assert script.stat().st_size <= 20 * 1024, script.name


def test_both_bases_have_the_same_routes(flask_app: Flask) -> None:
    rules = {
        (str(rule), tuple(sorted(rule.methods or ())))
        for rule in flask_app.url_map.iter_rules()
        if "/v1" in str(rule) and not str(rule).startswith("/storage")
    }
    first = {(path.removeprefix("/api"), methods) for path, methods in rules if "/api/" in path}
    second = {(path, methods) for path, methods in rules if "/api/" not in path}
    assert first == second


def test_the_committed_openapi_is_the_generated_one(flask_app: Flask) -> None:
    served = flask_app.test_client().get("/openapi.json").get_json()
    committed = json.loads((ROOT / "openapi.json").read_text())
    assert served == committed, "run `./run openapi --write openapi.json`"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(
        r"^\| `(CQE_\w+)` \| (?:`(.+?)` )?\| \S.* \|$",
        (ROOT / "docs" / "settings.md").read_text(),
        re.MULTILINE,
    )
    known = {each.metadata["variable"]: each for each in fields(Settings)}
    assert sorted(variable for variable, _ in rows) == sorted(known)
    for variable, text in rows:
        default = known[variable].default
        assert known[variable].metadata["parse"](text) == default if text else not default, variable


def test_the_migrations_make_the_tables_of_the_models(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    migrating.upgrade(settings)
    with migrating.migration_engine(settings).connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []


def test_the_floors_hold() -> None:
    checked = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout
