"""Schemas of campaigns."""

from typing import Any

from marshmallow import fields, validates_schema

from app.campaigns.enums import CHANNELS, CampaignStatus, CampaignType
from app.scorecards.schemas.scorecards import ScorecardsByChannel
from app.web.schemas.base import AnswerSchema, CamelSchema, Changes, about
from app.web.schemas.fields import (
    Choice,
    Items,
    LanguageTag,
    Nested,
    Number,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import Choices, PeriodQuery, sort_field
from app.web.schemas.records import NamedUpsert, ReferenceName, require_distinct, require_order

_MAX_CALL_CENTERS = 100


class CampaignQuery(PeriodQuery):
    """Query of the list of campaigns; `from` and `to` bound createdAt."""

    status = Choices(list(CampaignStatus))
    type = Choices(list(CampaignType))
    engagement_id = Reference("eng")
    q = Text(200, low=1, **about("Part of the name or the externalId."))
    sort = sort_field("name", "createdAt", "startsAt", "meanScore")


class CampaignTargetsSchema(AnswerSchema):
    """Targets of a campaign; null if none is set."""

    score = fields.Integer(allow_none=True, metadata={"minimum": 0, "maximum": 100})
    evaluations = fields.Integer(allow_none=True)
    pass_rate = fields.Float(allow_none=True, metadata={"minimum": 0, "maximum": 1})


class CampaignCountsSchema(AnswerSchema):
    conversations = fields.Integer()
    voice_calls = fields.Integer()
    audio_files = fields.Integer()
    evaluations = fields.Integer()


class CampaignSchema(AnswerSchema):
    id = fields.String(metadata={"example": "camp_01k9zq3r7vf8t5n2c6d0hjx4wm"})
    external_id = fields.String(allow_none=True)
    name = fields.String()
    description = fields.String(allow_none=True)
    type = Choice(list(CampaignType))
    channels = fields.List(Choice(CHANNELS))
    status = Choice(list(CampaignStatus))
    engagement_id = fields.String(allow_none=True)
    call_center_ids = fields.List(fields.String())
    scorecard_id = fields.String(allow_none=True)
    scorecard_ids = fields.Dict(
        keys=fields.String(),
        values=fields.String(allow_none=True),
        **about("Scorecards by channel, null for the default; each comes before `scorecardId`."),
    )
    language = fields.String(allow_none=True)
    starts_at = Timestamp(allow_none=True)
    ends_at = Timestamp(allow_none=True)
    targets = Nested(CampaignTargetsSchema)
    counts = Nested(CampaignCountsSchema)
    mean_score = fields.Float(
        allow_none=True, **about("Of current evaluations with a verdict; null without any.")
    )
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    created_at = Timestamp()
    updated_at = Timestamp()


class CampaignTargetsUpsert(CamelSchema):
    score = Whole(high=100, allow_none=True, load_default=None)
    evaluations = Whole(allow_none=True, load_default=None)
    pass_rate = Number(low=0, high=1, allow_none=True, load_default=None)


class CampaignTargetsChange(Changes, CampaignTargetsUpsert):
    """Targets to change; null takes one away."""


class CampaignChange(CamelSchema):
    """Changes of a campaign; omitted fields stay, also within the objects."""

    name = Text(200, low=1, **about("The name, of 1 to 200 characters."))
    targets = Nested(CampaignTargetsChange, **about("Targets; null takes one away."))
    scorecard_ids = Nested(
        ScorecardsByChannel,
        **about(
            "Scorecards by channel; null is the default of the channel, whatever `scorecardId` is."
        ),
    )


class CampaignMergeCreate(CamelSchema):
    campaign_ids = Items(
        Reference("camp"),
        low=1,
        high=20,
        required=True,
        **about("The campaigns that become part of this one."),
    )


class CampaignUpsert(NamedUpsert):
    description = Text(4000, multiline=True, allow_none=True, load_default=None)
    type = Choice(list(CampaignType), load_default=CampaignType.OTHER.value)
    channels = Items(Choice(CHANNELS), high=len(CHANNELS), load_default=list)
    status = Choice(list(CampaignStatus), load_default=CampaignStatus.ACTIVE.value)
    engagement_id = Reference("eng", allow_none=True, load_default=None)
    engagement = ReferenceName()
    call_center_ids = Items(Reference("cc"), high=_MAX_CALL_CENTERS, load_default=list)
    scorecard_id = Reference("sc", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    starts_at = Timestamp(allow_none=True, load_default=None)
    ends_at = Timestamp(allow_none=True, load_default=None)
    targets = Nested(CampaignTargetsUpsert, load_default=lambda: CampaignTargetsUpsert().load({}))

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "starts_at", "ends_at")

    @validates_schema
    def _check_lists(self, data: dict[str, Any], **_: Any) -> None:
        require_distinct(data, "channels")
        require_distinct(data, "call_center_ids")
