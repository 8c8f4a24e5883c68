"""Schemas of the parameters of rules."""

import math
from typing import Any

from marshmallow import ValidationError, validates_schema
from marshmallow.fields import Dict

from app.judge.scorecard.schema import (
    ACTS,
    GREETING_PARTS,
    KNOWN_METRICS,
    NEGATED,
    SAID,
    SPEAKERS,
)
from app.scorecards.schemas.fields import TITLE_CHARS, Amount, Key, amount, phrases, whole
from app.web.schemas.base import FORMAT, RANGE, REQUIRED, CodedMessage, StoredSchema, reject
from app.web.schemas.fields import Choice, Flag, Items, Nested, Text

_MOST_STATEMENTS = 20
_MOST_TURNS = 1_000
_MOST_ACTS = 10


class LimitsShape(StoredSchema):
    """A lower and an upper limit."""

    at_least = Amount()
    at_most = Amount()

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        if data.get("atLeast", -math.inf) > data.get("atMost", math.inf):
            raise reject("atMost", "atMost must not be below atLeast.", code=RANGE)


class RangeShape(LimitsShape):
    """A lower limit, an upper limit or both."""

    @validates_schema
    def _check_named(self, data: dict[str, Any], **_: Any) -> None:
        if not data:
            message = "This must name atLeast, atMost or both."
            raise ValidationError(CodedMessage(REQUIRED, message))


class StatementShape(StoredSchema):
    """A statement, and the phrases of which any makes it."""

    key = Key(required=True)
    title = Text(TITLE_CHARS, low=1, required=True)
    any_of = phrases(required=True)


class WithinShape(StoredSchema):
    """The first or the last turns of a conversation."""

    first_turns = whole("How many turns from the first.", low=1, high=_MOST_TURNS)
    last_turns = whole("How many turns up to the last.", low=1, high=_MOST_TURNS)

    @validates_schema
    def _check_one(self, data: dict[str, Any], **_: Any) -> None:
        if len(data) != 1:
            message = "This must name one of firstTurns and lastTurns."
            raise ValidationError(CodedMessage(FORMAT, message))


def _acts() -> Items:
    return Items(
        Choice(ACTS),
        low=1,
        high=_MOST_ACTS,
        metadata={"description": "What is done, of which any counts."},
    )


class AnchorShape(StoredSchema):
    """Something that happens in the conversation, and how far from it."""

    acts = _acts()
    any_of = phrases(metadata={"description": "Phrases, of which any counts."})
    by = Choice(SPEAKERS, metadata={"description": "By."})
    turns = whole("At most so many turns from it.", low=1, high=_MOST_TURNS)

    @validates_schema
    def _check_asked(self, data: dict[str, Any], **_: Any) -> None:
        if not {"acts", "anyOf"} & set(data):
            message = "This must name acts, phrases or both."
            raise ValidationError(CodedMessage(REQUIRED, message))


class ParametersShape(StoredSchema):
    """The parameters of all rules; docs/scorecards-criteria.md says which rule has which."""

    agent_turns = whole("First turns that count.", low=1, high=_MOST_TURNS)
    last_turns = whole("Last turns that count.", low=1, high=_MOST_TURNS)
    automation_disclosure_required = Flag(
        metadata={"description": "The bot must say that it is automated."}
    )
    half_at = amount("Has no effect any more.", low=0.01, high=1_000)
    weights = Dict(metadata={"description": "Has no effect any more."})
    min_words = whole("Words at least.")
    max_dead_air_count = whole("Long silences at most.")
    required_statements = Items(
        Nested(StatementShape),
        high=_MOST_STATEMENTS,
        metadata={"description": "Required statements."},
    )
    full_seconds = amount("Full score within, in seconds.")
    half_seconds = amount("Half the score within, in seconds.")
    requires = Items(
        Choice(GREETING_PARTS),
        high=len(GREETING_PARTS),
        metadata={"description": "The greeting contains."},
    )
    full_ms = whole("Full score within, in ms.")
    half_ms = whole("Half the score within, in ms.")
    max_fallbacks = whole("Replies without understanding at most.")
    max_repeated_questions = whole("Repeated questions at most.")
    min_wpm = amount("Words a minute at least.")
    max_wpm = amount("Words a minute at most.")
    interruptions_per_10_min_below = amount(
        "Interruptions in ten minutes below.", data_key="interruptionsPer10MinBelow"
    )
    min_speech_ms = whole("Speech at least, in ms.")
    full_elements = whole("Elements for the full score.")
    half_elements = whole("Elements for half the score.")
    max_per_5_min = amount("Overlaps in five minutes at most.", data_key="maxPer5Min")
    stops_within_ms = whole("Stops talking within, in ms.")
    statements = Items(
        Nested(StatementShape),
        low=1,
        high=_MOST_STATEMENTS,
        metadata={"description": "Statements."},
    )
    any_of = phrases(metadata={"description": "Phrases, of which any counts."})
    by = Choice(SPEAKERS, metadata={"description": "Said by."})
    within = Nested(WithinShape, metadata={"description": "Only within."})
    acts = _acts()
    said = Choice(SAID, metadata={"description": "Said as."})
    negated = Choice(NEGATED, metadata={"description": "Counts."})
    before = Nested(AnchorShape, metadata={"description": "Before."})
    after = Nested(AnchorShape, metadata={"description": "After."})
    at_least = whole("Times at least.", low=1, high=_MOST_TURNS)
    at_most = whole("Times at most.", high=_MOST_TURNS)
    in_order = Flag(metadata={"description": "In this order."})
    metric = Choice(sorted(KNOWN_METRICS), metadata={"description": "Metric."})
    full = Nested(RangeShape, metadata={"description": "Full score."})
    half = Nested(RangeShape, metadata={"description": "Half the score."})
