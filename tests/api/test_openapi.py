"""The OpenAPI document: valid, complete, and with examples that match their schemas."""

import itertools
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner
from flask import Flask, url_for
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from app.cli import COMMANDS, cqe
from app.core.ids import new_id
from app.core.json_documents import camel_case
from app.events.catalogue import EventType, example_of
from tests.caller import Caller, error_code
from tests.openapi_document import operations, properties

ROOT = Path(__file__).resolve().parents[2]
IDS = {
    "scorecard_id": new_id("sc"),
    "evaluation_id": new_id("eval"),
    "subscription_id": new_id("wh"),
}


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
    validate(document)


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


def test_every_operation_has_a_name_a_summary_a_description_and_errors(
    document: dict[str, Any],
) -> None:
    seen: set[str] = set()
    for name, operation in operations(document):
        assert operation["operationId"] not in seen
        seen.add(operation["operationId"])
        assert operation["summary"], name
        assert operation["description"], name
        assert not operation["description"].startswith(operation["summary"]), name
        if operation["security"]:
            assert {"401", "403", "429", "500", "503"} <= operation["responses"].keys()
            assert {"$ref": "#/components/parameters/Nonce"} in operation["parameters"], name


def test_conditional_requests_are_described_where_they_work(document: dict[str, Any]) -> None:
    conditional = {
        name: {parameter.get("$ref", "").rpartition("/")[2] for parameter in shape["parameters"]}
        for name, shape in operations(document)
        if "ETag" in shape["responses"].get("200", {}).get("headers", {})
    }
    assert "IfNoneMatch" in conditional["get /api/v1/engagements/{engagement_id}"]
    assert "IfMatch" in conditional["patch /api/v1/engagements/{engagement_id}"]
    with_304 = {name for name, shape in operations(document) if "304" in shape["responses"]}
    assert with_304 == {name for name in conditional if name.startswith("get ")}
    with_412 = {name for name, shape in operations(document) if "412" in shape["responses"]}
    assert with_412 == {name for name, _ in operations(document) if name.startswith("patch ")}


def test_no_description_is_left_without_its_field(document: dict[str, Any]) -> None:
    file = ROOT / "app" / "web" / "openapi" / "descriptions.toml"
    described = tomllib.loads(file.read_text())["fields"]
    schemas = document["components"]["schemas"]
    names = {place.rsplit(".", 1)[1] for place, _ in properties(document)}
    names |= {camel_case(name) for name in names}
    for name in described:
        schema, _, field = name.rpartition(".")
        known = names if schema in ("", "Event") else schemas[schema]["properties"]
        assert field in known, name


def test_a_body_is_required_where_the_service_demands_one(
    document: dict[str, Any], client: Caller
) -> None:
    schemas = document["components"]["schemas"]
    sent = 0
    for name, operation in operations(document):
        method, path = name.split()
        if "requestBody" not in operation or not path.startswith("/"):
            continue
        content = operation["requestBody"]["content"]["application/json"]
        schema = schemas[content["schema"]["$ref"].rsplit("/", 1)[1]]
        assert operation["requestBody"]["required"] == bool(schema.get("required")), name
        if operation["requestBody"]["required"]:
            address = re.sub(r"{(\w+)}", lambda match: IDS.get(match[1], "ext-1"), path)
            answer = client.call(method.upper(), address)
            assert error_code(answer) in ("VALIDATION_ERROR", "RESOURCE_NOT_FOUND"), name
            sent += 1
    assert sent > 5


def test_each_event_type_is_a_webhook_with_its_schema(document: dict[str, Any]) -> None:
    assert document["webhooks"].keys() == {event.value for event in EventType}
    for event, item in document["webhooks"].items():
        content = item["post"]["requestBody"]["content"]["application/json"]
        assert Draft202012Validator(content["schema"]).is_valid(example_of(EventType(event)))
        assert content["examples"]["sample"]["value"] == example_of(EventType(event))


def test_no_request_matches_two_paths_of_equal_rank(document: dict[str, Any]) -> None:
    """A path with a name where the other has a variable goes first; that must be one of the two."""
    paths = [path.split("/") for path in document["paths"]]
    for first, second in itertools.combinations(paths, 2):
        pairs = [(a, b) for a, b in zip(first, second, strict=False) if a != b]
        alike = len(first) == len(second) and all(a[:1] == "{" or b[:1] == "{" for a, b in pairs)
        assert not alike or len({a[:1] == "{" for a, _ in pairs}) == 1, (first, second)


def test_what_needs_no_start_runs_in_an_empty_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without master keys, and nothing is left in the data folder; `flask` knows these, too."""
    monkeypatch.delenv("CQE_MASTER_KEYS", raising=False)
    monkeypatch.setenv("CQE_DATA_DIR", str(tmp_path / "instance"))
    printed = CliRunner().invoke(cqe, ["openapi"])
    assert json.loads(printed.output) == json.loads((ROOT / "openapi.json").read_text())
    assert CliRunner().invoke(cqe, ["signing", "vectors"]).exit_code == 0
    refused = CliRunner().invoke(cqe, ["usage", "show"])
    assert (refused.exit_code, "put a copy of it back" in refused.output) == (2, True)
    assert not (tmp_path / "instance").exists()
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    plugins = declared["project"]["entry-points"]["flask.commands"]
    standalone = {name: command.path for name, command in COMMANDS.items() if command.standalone}
    assert plugins == standalone


def test_a_url_can_be_built_though_the_service_builds_none(flask_app: Flask) -> None:
    with flask_app.test_request_context():
        assert url_for("docs.page") == "/docs"
        assert url_for("engagements.list_engagements", page=2) == "/api/v1/engagements?page=2"


def test_the_reference_page_may_not_be_framed_nor_send_forms(base: str) -> None:
    policy = requests.get(f"{base}/docs", timeout=30).headers["Content-Security-Policy"]
    for directive in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
        assert directive in policy
