"""Shapes of usage (spec A4)."""

from marshmallow import fields

from app.web.fields import Moment, Pattern
from app.web.shapes import CamelSchema


class PeriodQuery(CamelSchema):
    """Which billing period; the current one unless said."""

    billing_period = Pattern("[0-9]{4}-(0[1-9]|1[0-2])", "This must be a month such as 2026-11.")


class KeyUsageSchema(CamelSchema):
    """What one key used in a period."""

    key_id = fields.String(required=True)
    name = fields.String(required=True)
    calls = fields.Integer(required=True)
    last_used_at = Moment(required=True, allow_none=True)


class UsageByKeySchema(CamelSchema):
    """The calls of every key in a period."""

    billing_period = fields.String(required=True)
    keys = fields.List(fields.Nested(KeyUsageSchema), required=True)
