"""Samples of the OpenAPI document: the service accepts the requests, the answers fit their schemas."""

from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest
from flask import Flask
from jsonschema import Draft202012Validator

from tests.api_story import SAMPLES, Story
from tests.caller import Caller
from tests.contacts import judge
from tests.openapi_document import operations


@pytest.fixture
def base(serve: Callable[..., str]) -> str:
    """A service whose webhooks may go to loopback addresses."""
    return serve(webhook_allowed_cidrs=(ip_network("127.0.0.0/8"),))


@pytest.fixture
def document(flask_app: Flask) -> dict[str, Any]:
    return dict(flask_app.test_client().get("/openapi.json").get_json())


def test_every_request_is_accepted_as_documented(document: dict[str, Any], client: Caller) -> None:
    story = Story(document, client, judge, {"hooks.example.com": "127.0.0.1"})
    story.tell()
    named = {operation["operationId"]: operation for _, operation in operations(document)}
    for sent, sample in SAMPLES.items():
        content = named[sent]["requestBody"]["content"]["application/json"]
        assert content["example"] == sample
        assert str(story.answers[sent]["status"]) in named[sent]["responses"], sent


def test_recorded_answers_and_errors_fit_their_status_and_schema(document: dict[str, Any]) -> None:
    recorded = 0
    for name, operation in operations(document):
        for status, response in operation["responses"].items():
            for content in response.get("content", {}).values():
                if "example" in content:
                    schema = {**content["schema"], "components": document["components"]}
                    problems = Draft202012Validator(schema).iter_errors(content["example"])
                    assert [problem.message for problem in problems] == [], (name, status)
                    recorded += 1
    assert recorded > 50
    for name, response in document["components"]["responses"].items():
        examples = response["content"]["application/json"]["examples"]
        codes = {code: example["value"]["error"]["code"] for code, example in examples.items()}
        assert codes, name
        assert all(code == shown for code, shown in codes.items())
        assert all(code in response["description"] for code in codes), name
