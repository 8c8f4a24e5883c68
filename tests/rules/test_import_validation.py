"""Validation of imported records: every record is valid or refused with a message."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import InvalidInput
from app.core.secrets.encryption import Keyring
from app.imports.formats.records import Kind
from app.imports.loading.normalise import ValidRecord, summary_of
from app.imports.schemas.records import SCHEMAS, validate_record
from app.redaction.redactor import Redactor
from tests.sampling import examples

WORDS = [
    *("completed", "closed", "agent", "bot", "customer", "en", "chat", "2026-01-02T03:04:05Z"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2999-01-01T00:00:00Z", "\x00"),
]
NAMES = sorted(
    {str(field.data_key) for schema in SCHEMAS.values() for field in schema.fields.values()}
)
REDACTOR = Redactor(enabled=True, keyring=Keyring({"own": bytes(32)}))
validate = partial(validate_record, REDACTOR, {})
INNER = ["role", "text", "sentAt", "startMs", "endMs", "p50", "score", "audioFileId", "metadata"]
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**62) | st.floats() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(INNER), inner, max_size=4)
    ),
    max_leaves=10,
)
TURN = st.fixed_dictionaries(
    {"role": st.sampled_from(["agent", "bot", "customer"]), "text": st.text(max_size=5)},
    optional={"startMs": st.integers(0, 9), "endMs": st.integers(0, 9), "sentAt": VALUE},
)
LIKELY = st.fixed_dictionaries(
    {"externalId": st.text(max_size=5), "status": st.sampled_from(WORDS)},
    optional={
        "name": st.text(max_size=5),
        "messages": st.lists(TURN, max_size=4),
        "turns": st.lists(TURN, max_size=4),
        "startedAt": st.sampled_from(WORDS),
        "endedAt": st.sampled_from(WORDS),
    },
)


@settings(max_examples=examples(150))
@given(
    kind=st.sampled_from(list(Kind)),
    likely=LIKELY,
    wild=st.dictionaries(st.sampled_from(NAMES), VALUE, max_size=3),
)
def test_a_record_is_valid_or_refused_with_a_message(
    kind: str, likely: dict[str, Any], wild: dict[str, Any]
) -> None:
    try:
        result: ValidRecord | str = validate(kind, {**likely, **wild})
    except InvalidInput as error:
        result = summary_of(error)
    assert result


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_schema(kind: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        validate(kind, {})
    assert {detail["code"] for detail in refused.value.details} == {"REQUIRED"}


def test_a_reference_is_given_by_name_or_by_id_but_not_both() -> None:
    fields = {"externalId": "e", "name": "A", "callCenter": "Pune"}
    assert validate(Kind.EXECUTIVE, fields).names == {"call_center": "Pune"}
    assert validate(Kind.EXECUTIVE, {**fields, "callCenter": None}).names == {}
    both = {**fields, "callCenterId": "cc_01k9zq2m5rt9w3x7b1f6e8nvha"}
    with pytest.raises(InvalidInput, match="fields are invalid") as refused:
        validate(Kind.EXECUTIVE, both)
    assert summary_of(refused.value) == "callCenter: Give callCenter or callCenterId, not both."
