"""Schemas of the queries and answers about scorecards."""

from typing import Any

from marshmallow import fields

from app.scorecards.enums import MOST_DAYS, ReleaseRule
from app.scorecards.schemas.document import CHANNELS
from app.web.schemas.base import AnswerSchema, CamelSchema
from app.web.schemas.fields import Choice, Nested, Reference, Timestamp, Whole
from app.web.schemas.query_fields import PageQuery, QueryWhole, sort_field


class ScorecardQuery(PageQuery):
    channel = Choice(CHANNELS)
    sort = sort_field("createdAt", "name", default="name")


class VersionQuery(CamelSchema):
    version = QueryWhole(
        low=1, high=1_000_000, metadata={"description": "By default the current one."}
    )


def _of_channel(words: str) -> Reference:
    return Reference("sc", allow_none=True, metadata={"description": f"Scorecard of {words}."})


class ScorecardsByChannel(CamelSchema):
    """Scorecards by channel; null is the default."""

    voice = _of_channel("recorded calls")
    chat = _of_channel("chats")
    voice_bot = _of_channel("calls of voice bots")

    def on_bind_field(self, field_name: str, field_obj: fields.Field[Any]) -> None:
        """Name each field as its channel."""
        field_obj.data_key = field_name


class ScorecardVersionsQuery(PageQuery):
    """The query of the list of versions."""


class ReleaseBody(CamelSchema):
    """Time at which agents see what a scorecard has judged."""

    rule = Choice(list(ReleaseRule), required=True)
    days = Whole(
        low=1,
        high=MOST_DAYS,
        metadata={"description": "Days after the evaluation; only with after_days."},
    )


class ReleaseSchema(AnswerSchema):
    """The rule by which agents see what a scorecard has judged."""

    scorecard_id = fields.String()
    rule = Choice(list(ReleaseRule))
    days = fields.Integer(
        allow_none=True,
        metadata={"description": "Days after the evaluation, of the rule after_days."},
    )


class ScorecardSchema(AnswerSchema):
    """A scorecard in the version that new evaluations use."""

    id = fields.String(metadata={"example": "sc_01m7y8wdeyext86rqr0n83rs5t"})
    name = fields.String()
    description = fields.String(allow_none=True)
    channel = Choice(CHANNELS)
    languages = fields.List(fields.String())
    version = fields.Integer()
    is_default = fields.Boolean(metadata={"description": "It ships with the service."})
    judges_by_default = fields.Boolean(
        metadata={
            "description": "It judges the conversations of its channel whose campaign names no other."
        }
    )
    pass_threshold = fields.Integer()
    criteria_count = fields.Integer()
    created_at = Timestamp()
    updated_at = Timestamp(metadata={"description": "When this version was made."})


class ScorecardDetailSchema(ScorecardSchema):
    """A scorecard with its sections, criteria, bands and thresholds."""

    definition = fields.Dict(
        metadata={"description": "The whole document; changed, it can be sent as a new version."}
    )


class WarningSchema(AnswerSchema):
    field = fields.String(metadata={"example": "criteria[2].question"})
    message = fields.String()


class ScorecardKeptSchema(ScorecardDetailSchema):
    """A stored version, with its warnings."""

    warnings = fields.List(Nested(WarningSchema))
