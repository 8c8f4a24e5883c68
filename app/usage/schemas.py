"""Schemas of usage."""

from marshmallow import fields

from app.usage.plan import PERIOD_PATTERN, UNITS, UsageMetric
from app.web.schemas.base import AnswerSchema, CamelSchema, about
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


class CountedSchema(AnswerSchema):
    """A number, compared with the plan."""

    used = Whole()
    included = Whole()
    overage = Whole(**about("Usage beyond the plan."))


class StorageUsageSchema(AnswerSchema):
    """Gigabytes (10^9 bytes), compared with the plan; `used` is the peak of the period."""

    used = Number(low=0)
    included = Number(low=0)
    overage = Number(low=0, **about("Usage beyond the plan."))


class AmountsSchema(AnswerSchema):
    calls = Nested(CountedSchema)
    webhooks = Nested(CountedSchema)
    storage_gb = Nested(StorageUsageSchema, data_key="storage_gb")


class UsageSummarySchema(AnswerSchema):
    billing_period = _period()
    tier = fields.String()
    usage = Nested(AmountsSchema)


class UsageRecordSchema(AnswerSchema):
    """Usage on one day by one key in one operation."""

    id = fields.String(metadata={"example": "use_01k9zq3s7vf0mb5e2wd8yhx4cn"})
    billing_period = _period()
    date = fields.String(metadata={"format": "date", "example": "2026-11-21"})
    type = Choice(_TYPES)
    key_id = fields.String(allow_none=True)
    key_name = fields.String(allow_none=True)
    operation = fields.String(
        **about("The operation id of the endpoint, the webhook's id, or `storage`.")
    )
    quantity = Number(
        low=0,
        **about(
            "Calls, deliveries, or the gigabytes by which the day raised the peak "
            "of the period. The records of a period add up to its summary."
        ),
    )
    unit = Choice(tuple(UNITS.values()))
    billable = Flag()


class KeyUsageSchema(AnswerSchema):
    key_id = fields.String()
    name = fields.String()
    calls = fields.Integer()
    last_used_at = Timestamp(allow_none=True)


class UsageByKeySchema(AnswerSchema):
    billing_period = fields.String()
    keys = fields.List(fields.Nested(KeyUsageSchema))
