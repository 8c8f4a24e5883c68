"""Schema of the parameters of rules, made from their declaration."""

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from app.judge.rules.catalogue import PARAMETERS
from app.judge.scorecard.parameters import Kind, Parameter
from app.scorecards.schemas.fields import TITLE_CHARS, Amount, Key, phrases
from app.web.schemas.base import FORMAT, RANGE, REQUIRED, CodedMessage, StoredSchema, reject
from app.web.schemas.fields import MAX_INTEGER, Choice, Flag, Items, Nested, Text, Whole


class LimitsShape(StoredSchema):
    """A part that may have a lower and an upper limit."""

    @validates_schema
    def check_order(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse an upper limit below the lower one."""
        if data.get("atLeast", -math.inf) > data.get("atMost", math.inf):
            raise reject("atMost", "atMost must not be below atLeast.", code=RANGE)


class StatementShape(StoredSchema):
    """A statement, and the phrases of which any makes it."""

    key = Key(required=True)
    title = Text(TITLE_CHARS, low=1, required=True)
    any_of = phrases(required=True)


class _ObjectShape(LimitsShape):
    """An object with some of the members that its parameter declares."""

    declared: Parameter

    @validates_schema
    def check_named(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse an object without any of the members that make it, or with too many of them."""
        named, names = data.keys() & {*self.declared.one_of}, self.declared.one_of
        if self.declared.only_one and len(named) != 1:
            message = f"This must name one of {', '.join(names[:-1])} and {names[-1]}."
            raise ValidationError(CodedMessage(FORMAT, message))
        if not named:
            message = f"This must name at least one of {' and '.join(names)}."
            raise ValidationError(CodedMessage(REQUIRED, message))


_OBJECTS = {declared.shape: declared for declared in PARAMETERS.values() if declared.shape}


@cache
def _shape_named(name: str) -> type[Schema]:
    """Return the schema of an object; parameters with the same members share one."""
    declared = _OBJECTS[name]
    made = _ObjectShape.from_dict(_fields_of(declared.members), name=name)
    return type(name, (made,), {"declared": declared})


def _fields_of(parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {parameter.name: _field_of(parameter) for parameter in parameters}


def _field_of(parameter: Parameter) -> fields.Field[Any]:
    label = f"{parameter.label[:1].upper()}{parameter.label[1:]}."
    return _FIELDS[parameter.kind](parameter, {"metadata": {"description": label}})


def _length(parameter: Parameter) -> dict[str, int]:
    return {"low": int(parameter.low or 0), "high": int(parameter.high or 0)}


_FIELDS: dict[Kind, Callable[[Parameter, dict[str, Any]], fields.Field[Any]]] = {
    "whole": lambda declared, more: Whole(
        low=int(declared.low or 0), high=int(declared.high or MAX_INTEGER), **more
    ),
    "amount": lambda declared, more: Amount(low=declared.low, high=declared.high, **more),
    "flag": lambda _, more: Flag(**more),
    "choice": lambda declared, more: Choice(declared.options, **more),
    "choices": lambda declared, more: Items(Choice(declared.options), **_length(declared), **more),
    "phrases": lambda _, more: phrases(**more),
    "statements": lambda declared, more: Items(Nested(StatementShape), **_length(declared), **more),
    "object": lambda declared, more: Nested(_shape_named(declared.shape), **more),
}


_RETIRED = {"description": "Has no effect any more."}
# The parameters of all rules; docs/scorecards-criteria.md says which rule has which.
ParametersShape = StoredSchema.from_dict(
    {
        **_fields_of(PARAMETERS.values()),
        "halfAt": Amount(low=0.01, high=1_000, metadata=_RETIRED),
        "weights": fields.Dict(metadata=_RETIRED),
    },
    name="ParametersShape",
)
