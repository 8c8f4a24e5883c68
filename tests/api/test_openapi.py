"""The OpenAPI document: valid, complete, and with examples that hold."""

import configparser
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner
from flask import Flask, url_for
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from app.cli import STANDALONE_COMMANDS, cqe

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def document(flask_app: Flask) -> dict[str, Any]:
    return dict(flask_app.test_client().get("/openapi.json").get_json())


def fields(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{name}.{field}", shape)
        for name, schema in document["components"]["schemas"].items()
        for field, shape in schema.get("properties", {}).items()
    ]


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)  # type: ignore[arg-type]


def test_every_plain_field_has_an_example_that_fits_it(document: dict[str, Any]) -> None:
    plain = {"string", "integer", "number", "boolean"}
    without, wrong = [], []
    for name, shape in fields(document):
        kinds = shape.get("type", [])
        found = shape.get("examples", [shape["example"]] if "example" in shape else [])
        if plain & set([kinds] if isinstance(kinds, str) else kinds) and not found:
            without.append(name)
        for example in found:
            problems = Draft202012Validator(shape).iter_errors(example)
            wrong += [f"{name}: {problem.message}" for problem in problems]
    assert without == []
    assert wrong == []


def test_every_operation_is_named_described_guarded_and_answers_errors(
    document: dict[str, Any],
) -> None:
    seen: set[str] = set()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert operation["description"], path
            if path != "/health":
                assert operation["security"]
                assert {"401", "403", "429", "500", "503"} <= operation["responses"].keys()


def test_what_needs_no_start_runs_in_an_empty_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without master keys, and nothing is left in the data folder; `flask` knows these, too."""
    monkeypatch.delenv("CQE_MASTER_KEYS", raising=False)
    monkeypatch.setenv("CQE_DATA_DIR", str(tmp_path / "instance"))
    printed = CliRunner().invoke(cqe, ["openapi"])
    assert json.loads(printed.output) == json.loads((ROOT / "openapi.json").read_text())
    trained = CliRunner().invoke(cqe, ["judge", "train", str(tmp_path)])
    assert "is missing" in trained.output
    assert CliRunner().invoke(cqe, ["signing", "vectors"]).exit_code == 0
    refused = CliRunner().invoke(cqe, ["usage", "show"])
    assert (refused.exit_code, "no master keys" in refused.output) == (2, True)
    assert not (tmp_path / "instance").exists()
    declared = configparser.ConfigParser()
    declared.read(ROOT / "setup.cfg")
    lines = declared["options.entry_points"]["flask.commands"].split("\n")
    plugins = dict(line.split(" = ") for line in lines if line)
    assert plugins == STANDALONE_COMMANDS


def test_a_url_can_be_built_though_the_service_builds_none(flask_app: Flask) -> None:
    with flask_app.test_request_context():
        assert url_for("docs.page") == "/docs"
        assert url_for("engagements.list_engagements", page=2) == "/api/v1/engagements?page=2"


def test_the_reference_page_may_not_be_framed_nor_send_forms(base: str) -> None:
    policy = requests.get(f"{base}/docs", timeout=30).headers["Content-Security-Policy"]
    for directive in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
        assert directive in policy
