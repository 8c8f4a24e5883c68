"""The compiled way of writing rows gives what marshmallow gives."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from marshmallow import fields

from app.web.schemas.base import CamelSchema
from app.web.schemas.dump import dump
from app.web.schemas.fields import Choice, Flag, Labels, Number, Text, Timestamp, Whole


class Inner(CamelSchema):
    seen_at = Timestamp()
    number = Number()


class Outer(CamelSchema):
    some_name = Text(100)
    kind = Choice(("a", "b"))
    count = Whole()
    good = Flag()
    labels = Labels()
    tags = fields.List(fields.String())
    inner = fields.Nested(Inner)
    inners = fields.List(fields.Nested(Inner))
    many = fields.Nested(Inner, many=True)
    renamed = fields.String(attribute="other", data_key="shown")
    absent = fields.String()


MOMENTS = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1))
INNERS = st.fixed_dictionaries(
    {"seen_at": st.none() | MOMENTS, "number": st.floats(allow_nan=False, allow_infinity=False)}
)
ROWS = st.fixed_dictionaries(
    {
        "some_name": st.none() | st.text(),
        "kind": st.sampled_from(["a", "b"]),
        "count": st.integers(),
        "good": st.booleans(),
        "labels": st.dictionaries(st.text(), st.text()),
        "tags": st.lists(st.text()),
        "inner": st.none() | INNERS,
        "inners": st.lists(INNERS, max_size=3),
        "many": st.lists(INNERS, max_size=3),
        "other": st.text(),
    }
)


@given(ROWS)
def test_a_mapping_is_written_alike(row: dict[str, Any]) -> None:
    assert dump(Outer(), row) == Outer().dump(row)


@given(st.lists(ROWS, max_size=3))
def test_a_list_of_objects_is_written_alike(rows: list[dict[str, Any]]) -> None:
    objects = [SimpleNamespace(**row) for row in rows]
    assert dump(Outer(many=True), objects) == Outer(many=True).dump(objects)
