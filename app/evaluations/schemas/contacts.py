"""Schemas of contacts of other systems, which are evaluated once they have ended."""

from typing import Any

from marshmallow import validates_schema

from app.campaigns import service as campaigns
from app.web.current import current_runtime
from app.web.schemas.base import CamelSchema, about
from app.web.schemas.fields import LanguageTag, PastMoment, Reference
from app.web.schemas.query_fields import QueryFlag
from app.web.schemas.records import RecordUpsert, ReferenceName, ReferencesByName, require_order


class CampaignReference(Reference):
    """The id of a campaign; that of a merged one means the campaign that it is part of now."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("camp", **kwargs)

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        campaign_id = super()._deserialize(value, attr, data, **kwargs)
        with current_runtime().db.reading_once() as session:
            return campaigns.into_ids(session, [campaign_id]).get(campaign_id, campaign_id)


class EvaluateQuery(CamelSchema):
    """Choice to evaluate the record, or only to store it."""

    evaluate = QueryFlag(
        **about(
            "`false`: only store the record. `true`: evaluate an open conversation "
            "too. Omitted: evaluate the record if it has ended."
        )
    )


class NamesOfReferences(ReferencesByName):
    engagement = ReferenceName()
    campaign = ReferenceName()
    call_center = ReferenceName()
    executive = ReferenceName()


class ContactUpsert(RecordUpsert, NamesOfReferences):
    """A conversation or a voice call of another system; omitted fields are set to defaults."""

    engagement_id = Reference("eng", allow_none=True, load_default=None)
    campaign_id = Reference("camp", allow_none=True, load_default=None)
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    started_at = PastMoment(allow_none=True, load_default=None)
    ended_at = PastMoment(allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "ended_at")
