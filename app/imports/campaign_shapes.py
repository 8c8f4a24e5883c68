"""The shape in which a campaign comes in."""

from typing import Any

from marshmallow import validates_schema

from app.campaigns.enums import CHANNELS, CampaignStatus, CampaignType
from app.imports.shapes import NamedUpsert
from app.web.schemas.base import CamelSchema, reject
from app.web.schemas.fields import (
    Choice,
    Items,
    LanguageTag,
    Moment,
    Nested,
    Number,
    Reference,
    Text,
    Whole,
)
from app.web.schemas.messages import RANGE

_MOST_CALL_CENTERS = 100


class CampaignTargetsUpsert(CamelSchema):
    """What a campaign wants to reach."""

    score = Whole(high=100, allow_none=True, load_default=None)
    evaluations = Whole(allow_none=True, load_default=None)
    pass_rate = Number(low=0, high=1, allow_none=True, load_default=None)


class CampaignUpsert(NamedUpsert):
    """A campaign as another system knows it."""

    description = Text(4000, multiline=True, allow_none=True, load_default=None)
    type = Choice(list(CampaignType), load_default=CampaignType.OTHER.value)
    channels = Items(Choice(CHANNELS), high=len(CHANNELS), load_default=list)
    status = Choice(list(CampaignStatus), load_default=CampaignStatus.ACTIVE.value)
    engagement_id = Reference("eng", allow_none=True, load_default=None)
    call_center_ids = Items(Reference("cc"), high=_MOST_CALL_CENTERS, load_default=list)
    scorecard_id = Reference("sc", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    starts_at = Moment(allow_none=True, load_default=None)
    ends_at = Moment(allow_none=True, load_default=None)
    targets = Nested(CampaignTargetsUpsert, load_default=lambda: CampaignTargetsUpsert().load({}))

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        starts_at, ends_at = data["starts_at"], data["ends_at"]
        if starts_at and ends_at and ends_at < starts_at:
            raise reject("endsAt", "endsAt may not be before startsAt.", code=RANGE)

    @validates_schema
    def _check_twins(self, data: dict[str, Any], **_: Any) -> None:
        for field, key in (("channels", "channels"), ("call_center_ids", "callCenterIds")):
            if len(set(data[field])) < len(data[field]):
                raise reject(key, "A member stands more than once.")
