"""The OpenAPI document: valid, complete, and with examples that hold."""

from typing import Any

import pytest
from flask import Flask
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate


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
