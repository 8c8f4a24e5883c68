"""Rules that linters cannot check: folders, names, citations, transactions, and generated files."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask import Flask

from app.api_keys.authentication import PUBLIC_ENDPOINTS
from app.core.database.session import Table
from app.core.settings import Settings, variable_of
from app.evaluations.models import SEARCH_INDEX
from app.operations import migrating
from app.web.api import Blueprint
from app.web.principal import require_scope
from tests.openapi_document import operations, properties

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("app/**/*.py"), *ROOT.glob("training/**/*.py")])
TEXTS = [*MODULES, *ROOT.glob("tests/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
MOST_MODULES = 15
PUBLIC_PAGES = {
    "dashboard.asset",
    *(f"dashboard.sign_in.{name}" for name in ("form", "submit")),
    *(f"dashboard.provider.{name}" for name in ("begin", "back", "signed_out", "end_sessions")),
    *(f"dashboard.unsubscribe.{name}" for name in ("form", "submit")),
    *(f"dashboard.second_factor.{name}" for name in ("code_form", "give_code")),
}
MOST_LINES = 400
QUESTION = re.compile(r"(What|Who|How|Which|Where|Whether|When)\s")

TRANSACTIONS = ROOT / "docs" / "decisions" / "0002-transactions-at-entry-points.md"


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_a_folder_holds_at_most_fifteen_modules() -> None:
    folders = Counter(file.parent for file in MODULES if file.name != "__init__.py")
    crowded = {name_of(folder): count for folder, count in folders.items() if count > MOST_MODULES}
    assert crowded == {}


def test_no_module_is_longer_than_400_lines() -> None:
    lines = {name_of(file): len(file.read_text().splitlines()) for file in MODULES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_two_classes_share_a_name() -> None:
    files = defaultdict(list)
    for file in MODULES:
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(name_of(file))
    assert {name: places for name, places in files.items() if len(places) > 1} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name_of(file) for file in MODULES if not ast.get_docstring(tree_of(file))] == []


def test_every_docstring_begins_with_a_noun_or_a_verb() -> None:
    questions = [
        f"{name_of(file)}:{getattr(node, 'lineno', 1)}"
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and QUESTION.match(ast.get_docstring(node) or "")
    ]
    assert questions == []


def test_every_page_that_is_cited_exists() -> None:
    missing = []
    for file in TEXTS:
        text = file.read_text()
        pages = re.findall(r"docs/[\w/-]+\.md", text)
        missing += [(name_of(file), page) for page in pages if not (ROOT / page).is_file()]
        if file.suffix == ".py" and file.name != "test_layout.py":
            cited = re.findall(
                r"\b(?:contract [ABC]\d+|(?:contract|security|webhooks|scorecards|evaluation"
                r"|conventions|speech|performance|architecture)(?:\.md)?, (?:section )?\d[\d.]*"
                r"|(?:contract|evaluation|conventions|speech|performance|architecture"
                r"|house|judgement|hostile|scale)\.md)",
                text,
            )
            missing += [(name_of(file), page) for page in cited]
    assert missing == []


def test_write_transactions_open_in_routes_jobs_and_commands_alone() -> None:
    rows = re.findall(r"^\| (`app/.*?) \|", TRANSACTIONS.read_text(), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(.*?)`", row)]
    opening = {name_of(file) for file in MODULES if list(_calls(file, "writing"))}
    doors = {
        name
        for name in opening
        if Path(name).stem in {"routes", "jobs", "cli"} or name.startswith("app/dashboard/pages/")
    }
    assert sorted(opening - doors) == sorted(listed)


def test_of_sqlalchemy_pages_name_sessions_alone() -> None:
    imported = {
        line
        for file in ROOT.glob("app/dashboard/pages/**/*.py")
        for line in file.read_text().splitlines()
        if "sqlalchemy" in line
    }
    assert imported == {"from sqlalchemy.orm import Session"}


def test_no_module_keeps_a_registry_that_changes() -> None:
    kept = [
        f"{name_of(file)}:{node.lineno}"
        for file in MODULES
        for node in tree_of(file).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_empty_collection(node.value)
    ]
    assert kept == []


def test_few_modules_replace_a_value_of_their_own() -> None:
    files = {
        name_of(file)
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Global)
    }
    assert files == {
        "app/core/clock.py",
        "app/core/ids.py",
        "app/core/process/owner.py",
        "app/core/process/stopping.py",
        "app/core/storage/breaker.py",
    }


def test_import_contracts_are_kept() -> None:
    checked = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_only_the_database_session_commits() -> None:
    committing = {
        name_of(file)
        for file in MODULES
        if re.search(r"\.commit\(|(engine|connection|session)\.begin\(", file.read_text())
    }
    assert committing == {
        "app/core/database/session.py",
        "app/operations/migrating.py",  # before there is a `Database`
    }


def test_statements_replace_the_legacy_query_api() -> None:
    assert [name_of(file) for file in MODULES if list(_calls(file, "query"))] == []


def test_every_endpoint_has_a_scope_or_is_public(flask_app: Flask) -> None:
    unguarded = {
        rule.endpoint
        for rule in flask_app.url_map.iter_rules()
        if not hasattr(flask_app.view_functions[rule.endpoint], "required_scope")
    }
    assert unguarded <= PUBLIC_ENDPOINTS | PUBLIC_PAGES


def test_an_endpoint_without_a_scope_or_with_two_is_refused() -> None:
    def view() -> str:
        return ""

    with pytest.raises(TypeError, match="has no scope"):
        Blueprint("without", __name__).get("/")(view)
    Blueprint("all", __name__, scope="usage:read").get("/")(view)
    # Above the route, it would come too late.
    with pytest.raises(TypeError, match="has a scope already"):
        require_scope("keys:manage")(view)


def test_both_base_paths_have_the_same_routes(flask_app: Flask) -> None:
    rules = {
        (str(rule), tuple(sorted(rule.methods or ())))
        for rule in flask_app.url_map.iter_rules()
        if "/v1" in str(rule) and not str(rule).startswith("/storage")
    }
    first = {(path.removeprefix("/api"), methods) for path, methods in rules if "/api/" in path}
    second = {(path, methods) for path, methods in rules if "/api/" not in path}
    assert first == second


def test_openapi_json_is_the_generated_document(flask_app: Flask) -> None:
    served = flask_app.test_client().get("/openapi.json").get_json()
    committed = json.loads((ROOT / "openapi.json").read_text())
    assert served == committed, "run `./run openapi > openapi.json`"


def test_every_property_and_parameter_is_described() -> None:
    document = json.loads((ROOT / "openapi.json").read_text())
    without = [place for place, shape in properties(document) if not shape.get("description")]
    for name, holder in [*operations(document), *document["paths"].items()]:
        without += [
            f"{name} {parameter['name']}"
            for parameter in holder.get("parameters", ())
            if "$ref" not in parameter and not parameter.get("description")
        ]
    assert without == [], "describe them at the field or in app/web/openapi/descriptions.toml"


def test_every_setting_is_documented_with_its_default() -> None:
    rows = re.findall(
        r"^\| `(CQE_\w+)` \| (?:`(.+?)` )?\| \S.* \|$",
        (ROOT / "docs" / "settings.md").read_text(),
        re.MULTILINE,
    )
    settings = {variable_of(field): field for field in fields(Settings)}
    assert sorted(variable for variable, _ in rows) == sorted(settings)
    for variable, text in rows:
        default = settings[variable].default
        parse = settings[variable].metadata["parse"]
        assert parse(text) == default if text else not default, variable


def is_of_models(_: object, name: str | None, *__: object) -> bool:
    return not (name or "").startswith(SEARCH_INDEX)


def test_migrations_create_the_tables_of_the_models(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    migrating.upgrade(settings)
    with migrating.migration_engine(settings).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_object": is_of_models}
        )
        assert compare_metadata(context, Table.metadata) == []


def _is_empty_collection(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in {"list", "dict", "set"} and not value.args
    return (isinstance(value, ast.List) and not value.elts) or (
        isinstance(value, ast.Dict) and not value.keys
    )


def _calls(file: Path, name: str) -> Iterator[int]:
    for node in ast.walk(tree_of(file)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == name
        ):
            yield node.lineno
