"""Event catalogue: types, each with a schema that its example obeys."""

from typing import get_type_hints

import orjson
import pytest
from jsonschema import Draft202012Validator, ValidationError

from app.core.clock import utc_now
from app.core.ids import new_id
from app.events import outbox
from app.events.catalogue import CATALOGUE, EventType, envelope, example_of, sample_of
from app.events.schemas import schema_of

TYPES = list(EventType)


def test_the_types_are_those_of_the_specification() -> None:
    assert [event_type.value for event_type in TYPES] == [
        "evaluation.completed",
        "audio.transcribed",
        "audio.processed",
        "voice-call.completed",
        "export.ready",
        "usage.quota_warning",
        "api-key.rotated",
        "conversation.failed",
        "evaluation.reviewed",
        "evaluation.acknowledged",
        "evaluation.disputed",
        "evaluation.dispute_decided",
        "alert.raised",
        "digest.sent",
    ]
    assert set(CATALOGUE) == set(TYPES)


@pytest.mark.parametrize("event", TYPES)
def test_the_example_obeys_its_schema(event: EventType) -> None:
    Draft202012Validator.check_schema(schema_of(event))
    Draft202012Validator(schema_of(event)).validate(example_of(event))


@pytest.mark.parametrize("event", TYPES)
def test_a_test_event_obeys_the_schema_and_is_marked(event: EventType) -> None:
    sample = sample_of(event)
    body = envelope(event_id=new_id("evt"), event=event, occurred_at=utc_now(), data=sample)
    Draft202012Validator(schema_of(event)).validate(orjson.loads(orjson.dumps(body)))
    assert sample["test"] is True


@pytest.mark.parametrize("event", TYPES)
def test_data_keys_are_snake_case_and_in_the_sample(event: EventType) -> None:
    names = set(get_type_hints(CATALOGUE[event].data_type))
    assert names == {*CATALOGUE[event].sample, "test"}
    assert all(name == name.lower() and "-" not in name for name in names)


def test_the_schema_of_evaluation_completed_is_exact() -> None:
    data = schema_of(EventType.EVALUATION_COMPLETED)["properties"]["data"]
    assert data["required"] == [
        "evaluation_id",
        "engagement_id",
        "campaign",
        "score",
        "channel",
        "duration_seconds",
    ]
    assert data["additionalProperties"] is False
    assert data["properties"]["score"] == {"type": "integer", "minimum": 0, "maximum": 100}


def test_a_wrong_body_is_refused_by_the_schema() -> None:
    example = example_of(EventType.EVALUATION_COMPLETED)
    example["data"] = {**example["data"], "score": "87"}  # type: ignore[dict-item]
    with pytest.raises(ValidationError):
        Draft202012Validator(schema_of(EventType.EVALUATION_COMPLETED)).validate(example)


def test_a_body_that_is_too_large_loses_its_long_texts() -> None:
    data = {**CATALOGUE[EventType.EVALUATION_COMPLETED].sample, "campaign": "n" * 300_000}
    thinned = outbox._thinned(data)
    assert thinned == {**data, "campaign": ""}
