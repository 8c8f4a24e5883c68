"""Schemas of scorecards."""

from marshmallow import fields

from app.ai.scorecard.schema import (
    MOST_CHARS,
    MOST_CRITERIA,
    MOST_NAMED,
    MOST_SECTIONS,
    MOST_TOPICS,
)
from app.scorecards import default_scorecards
from app.scorecards.schemas.criteria import (
    Amount,
    BandShape,
    CriterionShape,
    MetricsShape,
    MinimumShape,
    SectionShape,
    TopicShape,
)
from app.web.schemas.base import CamelSchema, StoredSchema
from app.web.schemas.fields import Choice, Items, LanguageTag, Nested, Text, Timestamp, Whole
from app.web.schemas.query_fields import PageQuery, QueryWhole, sort_field

CHANNELS = tuple(default_scorecards.IDS)


class ScorecardQuery(PageQuery):
    """The query of the list of scorecards."""

    channel = Choice(CHANNELS)
    sort = sort_field("createdAt", "name", default="name")


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
