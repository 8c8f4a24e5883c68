"""Schema of an imported campaign."""

from typing import Any

from marshmallow import validates_schema

from app.campaigns.enums import CHANNELS, CampaignStatus, CampaignType
from app.imports.schemas.base import NamedUpsert, require_distinct, require_order
from app.web.schemas.base import CamelSchema
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

_MAX_CALL_CENTERS = 100


class CampaignTargetsUpsert(CamelSchema):
    """Targets of a campaign."""

    score = Whole(high=100, allow_none=True, load_default=None)
    evaluations = Whole(allow_none=True, load_default=None)
    pass_rate = Number(low=0, high=1, allow_none=True, load_default=None)


class CampaignUpsert(NamedUpsert):
    """A campaign of another system."""

    description = Text(4000, multiline=True, allow_none=True, load_default=None)
    type = Choice(list(CampaignType), load_default=CampaignType.OTHER.value)
    channels = Items(Choice(CHANNELS), high=len(CHANNELS), load_default=list)
    status = Choice(list(CampaignStatus), load_default=CampaignStatus.ACTIVE.value)
    engagement_id = Reference("eng", allow_none=True, load_default=None)
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
