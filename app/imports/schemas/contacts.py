"""Schema fields that conversations and voice calls share."""

from typing import Any

from marshmallow import validates_schema

from app.imports.schemas.base import (
    RecordUpsert,
    ReferencesByName,
    reference_name,
    require_order,
)
from app.imports.schemas.fields import PastMoment
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import LanguageTag, Reference
from app.web.schemas.query_fields import QueryFlag


class EvaluateQuery(CamelSchema):
    """Whether the record is evaluated."""

    evaluate = QueryFlag(
        metadata={
            "description": "`false`: only store the record. `true`: evaluate an open conversation "
            "too. Omitted: evaluate the record if it has ended."
        }
    )


class ContactUpsert(RecordUpsert, ReferencesByName):
    """A conversation or a voice call of another system; omitted fields are set to defaults."""

    engagement_id = Reference("eng", allow_none=True, load_default=None)
    campaign_id = Reference("camp", allow_none=True, load_default=None)
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    engagement = reference_name()
    campaign = reference_name()
    call_center = reference_name()
    executive = reference_name()
    language = LanguageTag(allow_none=True, load_default=None)
    started_at = PastMoment(allow_none=True, load_default=None)
    ended_at = PastMoment(allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "ended_at")
