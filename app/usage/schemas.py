"""Schemas of usage."""

from marshmallow import fields

from app.usage.plan import PERIOD_PATTERN, UNITS, UsageMetric
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import (
    Choice,
    Flag,
    Nested,
    Number,
    Pattern,
    Reference,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import PageQuery, sort_field

_TYPES = tuple(UsageMetric)


def _period(*, required: bool = False) -> Pattern:
    hint = "billingPeriod must be a month such as 2026-11."
    return Pattern(PERIOD_PATTERN, hint, required=required)


class BillingPeriodQuery(CamelSchema):
    """A billing period; by default the current one."""

    billing_period = _period()


class UsageDetailsQuery(PageQuery):
    """Filters of usage records; by default those of the current billing period."""

    billing_period = _period()
    type = Choice(_TYPES)
    key_id = Reference("key")
    sort = sort_field("date", default="-date")


class CountedSchema(CamelSchema):
    """A number, compared with the plan."""

    used = Whole(required=True)
    included = Whole(required=True)
    overage = Whole(required=True, metadata={"description": "Usage beyond the plan."})


class StorageUsageSchema(CamelSchema):
    """Gigabytes (10^9 bytes), compared with the plan; `used` is the peak of the period."""

    used = Number(low=0, required=True)
    included = Number(low=0, required=True)
    overage = Number(low=0, required=True, metadata={"description": "Usage beyond the plan."})


class AmountsSchema(CamelSchema):
    """Usage of each metric."""

    calls = Nested(CountedSchema, required=True)
    webhooks = Nested(CountedSchema, required=True)
    storage_gb = Nested(StorageUsageSchema, required=True, data_key="storage_gb")


class UsageSummarySchema(CamelSchema):
    """Usage of a period."""

    billing_period = _period(required=True)
    tier = fields.String(required=True)
    usage = Nested(AmountsSchema, required=True)


class UsageRecordSchema(CamelSchema):
    """Usage on one day by one key in one operation."""

    id = fields.String(required=True, metadata={"example": "use_01k9zq3s7vf0mb5e2wd8yhx4cn"})
    billing_period = _period(required=True)
    date = fields.String(required=True, metadata={"format": "date", "example": "2026-11-21"})
    type = Choice(_TYPES, required=True)
    key_id = fields.String(required=True, allow_none=True)
    key_name = fields.String(required=True, allow_none=True)
    operation = fields.String(
        required=True,
        metadata={
            "description": "The operation id of the endpoint, the webhook's id, or `storage`."
        },
    )
    quantity = Number(
        low=0,
        required=True,
        metadata={
            "description": "Calls, deliveries, or the gigabytes by which the day raised the peak "
            "of the period. The records of a period add up to its summary."
        },
    )
    unit = Choice(tuple(UNITS.values()), required=True)
    billable = Flag(required=True)


class KeyUsageSchema(CamelSchema):
    """Calls of one key in a period."""

    key_id = fields.String(required=True)
    name = fields.String(required=True)
    calls = fields.Integer(required=True)
    last_used_at = Timestamp(required=True, allow_none=True)


class UsageByKeySchema(CamelSchema):
    """Calls of every key in a period."""

    billing_period = fields.String(required=True)
    keys = fields.List(fields.Nested(KeyUsageSchema), required=True)
