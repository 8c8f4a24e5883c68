"""Schemas of scorecards and of their parts, with the names of the document."""

from typing import Any

from marshmallow import ValidationError, fields

from app.ai.scorecard.schema import (
    DIMENSIONS,
    KNOWN_RULES,
    METRICS,
    MOST_CHARS,
    MOST_CRITERIA,
    MOST_NAMED,
    MOST_OPTIONS,
    MOST_PHRASE_CHARS,
    MOST_PHRASES,
    MOST_SECTIONS,
    MOST_TOPICS,
    MOST_WORDS,
    WORDS,
)
from app.scorecards import default_scorecards
from app.web.schemas.base import TYPE, CamelSchema, CodedMessage, StoredSchema
from app.web.schemas.fields import (
    MAX_INTEGER,
    Choice,
    Items,
    Labels,
    LanguageTag,
    Nested,
    Number,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import PageQuery, QueryWhole, sort_field

_KEY = ("[a-z0-9_]+([.][a-z0-9_]+)*", "This must be words of a-z, 0-9 and _, separated by dots.")
CHANNELS = tuple(default_scorecards.IDS)


class ScorecardQuery(PageQuery):
    """The query of the list of scorecards."""

    channel = Choice(CHANNELS)
    sort = sort_field("createdAt", "name", default="name")


def phrases() -> Items:
    """Return a field for a list of phrases: whole words in order, in any case."""
    return Items(Text(MOST_PHRASE_CHARS, low=1), low=1, high=MOST_PHRASES, required=True)


class Amount(Number):
    """A finite number that keeps its form: 30 does not become 30.0."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> float:
        number = super()._deserialize(value, attr, data, **kwargs)
        return value if isinstance(value, int) else number


class AnswerField(fields.Field[str | int]):
    """A string or an integer."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str | int:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ValidationError(CodedMessage(TYPE, "This must be a string or an integer."))
        return (
            Text(MOST_CHARS["answer"], low=1).deserialize(value)
            if isinstance(value, str)
            else value
        )


class BandShape(StoredSchema):
    """A band: the name of all scores from `from` up to the next band."""

    key = Choice(WORDS["band"], required=True)
    start = Whole(low=0, high=100, required=True, data_key="from")


class MinimumShape(StoredSchema):
    """The shares of the weight that a score and a verdict need."""

    words = Whole(low=0, high=10_000)
    judged_weight_percent = Amount(low=0, high=100)
    verdict_weight_percent = Amount(low=0, high=100)


class SectionShape(StoredSchema):
    """A section of the scorecard."""

    key = Pattern(*_KEY, required=True)
    title = Text(MOST_CHARS["title"], low=1, required=True)


class TopicShape(StoredSchema):
    """A topic, and the phrases that show it."""

    name = Text(MOST_CHARS["name"], low=1, required=True)
    any_of = phrases()


class OptionShape(StoredSchema):
    """One option of a criterion."""

    answer = AnswerField(
        required=True,
        metadata={"oneOf": [{"type": "string"}, {"type": "integer"}], "example": "yes"},
    )
    score = Amount(low=0, high=1, required=True)
    anchor = Text(
        MOST_CHARS["anchor"],
        low=1,
        required=True,
        metadata={"description": "When this is the right answer."},
    )


class JudgeShape(StoredSchema):
    """The rule of a criterion; without one only a language model can judge it."""

    methods = Items(
        Choice(WORDS["method"]), low=1, high=3, metadata={"description": "The preferred one first."}
    )
    rule = Choice(list(KNOWN_RULES))
    parameters = fields.Dict(
        keys=fields.String(), metadata={"description": "Those of the rule; see docs/scorecards.md."}
    )


class SaidShape(StoredSchema):
    """Phrases, any of which must be said."""

    any_of = phrases()
    by = Choice(WORDS["by"])


class MeasuredShape(StoredSchema):
    """A metric, optionally within a range."""

    metric = Text(MOST_CHARS["key"], low=1, required=True)
    at_least = Amount()
    at_most = Amount()


class ConditionsShape(StoredSchema):
    """The conditions of a criterion; all must be met."""

    languages = Items(LanguageTag(), high=MOST_NAMED)
    directions = Items(Choice(WORDS["direction"]), high=len(WORDS["direction"]))
    campaign_ids = Items(Reference("camp"), high=MOST_NAMED)
    labels = Labels()
    said = Nested(SaidShape)
    not_said = Nested(SaidShape)
    events = Items(Choice(WORDS["event"]), high=len(WORDS["event"]))
    metric = Nested(MeasuredShape)


class CriterionShape(StoredSchema):
    """One criterion; with `use` it starts from the default's criterion of that key."""

    use = Pattern(*_KEY)
    key = Pattern(*_KEY)
    title = Text(MOST_CHARS["title"], low=1)
    section = Pattern(*_KEY)
    question = Text(MOST_CHARS["question"], low=1)
    type = Choice(WORDS["type"])
    weight = Amount(low=0, high=100)
    criticality = Choice(WORDS["criticality"])
    error_class = Choice(WORDS["errorClass"])
    options = Items(Nested(OptionShape), high=MOST_OPTIONS)
    applies_when = Nested(ConditionsShape)
    not_applicable_when = Text(
        MOST_CHARS["notApplicableWhen"],
        allow_none=True,
        metadata={"description": "In words, for people and language models."},
    )
    judge = Nested(JudgeShape)
    fails_at = Amount(low=0, high=1)
    dimension = Choice(DIMENSIONS, allow_none=True)
    suggestion = Text(MOST_CHARS["suggestion"])


def _settings() -> dict[str, fields.Field[Any]]:
    words = ("backChannels", "fillers")
    return {
        name: Items(Text(MOST_CHARS["key"], low=1), high=MOST_WORDS)
        if name in words
        else Whole(low=0, high=MAX_INTEGER)
        if kind is int
        else Amount(low=0)
        for name, kind in METRICS.items()
    }


MetricsShape = StoredSchema.from_dict(_settings(), name="MetricsShape")


class VersionQuery(CamelSchema):
    """The version to show."""

    version = QueryWhole(
        low=1, high=1_000_000, metadata={"description": "By default the current one."}
    )


class ScorecardVersionsQuery(PageQuery):
    """The query of the list of versions."""


class ScorecardVersionCreate(StoredSchema):
    """The next version of a scorecard; omitted fields are those of the default."""

    name = Text(MOST_CHARS["name"], low=1)
    description = Text(MOST_CHARS["description"], multiline=True, allow_none=True)
    channel = Choice(CHANNELS)
    languages = Items(
        LanguageTag(),
        high=MOST_NAMED,
        metadata={"description": "A conversation in another one is not judged; empty: any."},
    )
    pass_threshold = Whole(low=0, high=100)
    bands = Items(Nested(BandShape), low=1, high=4)
    max_failed_weight_percent = Amount(low=0, high=100)
    minimum = Nested(MinimumShape)
    metrics = Nested(MetricsShape)
    sections = Items(
        Nested(SectionShape),
        low=1,
        high=MOST_SECTIONS,
        metadata={"description": "By default those of the default scorecard that are used."},
    )
    criteria = Items(
        Nested(CriterionShape),
        low=1,
        high=MOST_CRITERIA,
        required=True,
        metadata={"description": "Their weights sum to 100."},
    )
    topics = Items(Nested(TopicShape), high=MOST_TOPICS)


class ScorecardCreate(ScorecardVersionCreate):
    """A custom scorecard."""

    name = Text(MOST_CHARS["name"], low=1, required=True)
    channel = Choice(CHANNELS, required=True)


class ScorecardSchema(CamelSchema):
    """A scorecard in the version that new evaluations use."""

    id = fields.String(required=True, metadata={"example": "sc_01m7y8wdeyext86rqr0n83rs5t"})
    name = fields.String(required=True)
    description = fields.String(required=True, allow_none=True)
    channel = Choice(CHANNELS, required=True)
    languages = fields.List(fields.String(), required=True)
    version = fields.Integer(required=True)
    is_default = fields.Boolean(
        required=True, metadata={"description": "It ships with the service."}
    )
    pass_threshold = fields.Integer(required=True)
    criteria_count = fields.Integer(required=True)
    created_at = Timestamp(required=True)
    updated_at = Timestamp(required=True, metadata={"description": "When this version was made."})


class ScorecardDetailSchema(ScorecardSchema):
    """A scorecard with its sections, criteria, bands and thresholds."""

    definition = fields.Dict(
        required=True,
        metadata={"description": "The whole document; changed, it can be sent as a new version."},
    )


class WarningSchema(CamelSchema):
    """A warning about a scorecard."""

    field = fields.String(required=True, metadata={"example": "criteria[2].question"})
    message = fields.String(required=True)


class ScorecardKeptSchema(ScorecardDetailSchema):
    """A stored version, with its warnings."""

    warnings = fields.List(Nested(WarningSchema), required=True)
