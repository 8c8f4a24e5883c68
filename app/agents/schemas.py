"""Schemas of receipts and disputes."""

from typing import Any

from marshmallow import fields, validates_schema

from app.agents.enums import ReceiptAction
from app.analytics.schemas.reports import AnalyticsPeriodSchema
from app.reviews.schemas.reviews import CriterionRatingCreate
from app.web.schemas.base import REQUIRED, AnswerSchema, CamelSchema, about, reject
from app.web.schemas.fields import Choice, Items, Nested, Reference, Text, Timestamp


class ReceiptCreate(CamelSchema):
    action = Choice(list(ReceiptAction), required=True)
    comment = Text(2_000, low=1, multiline=True, **about("With commented, and only then."))


class ReceiptSchema(AnswerSchema):
    id = fields.String()
    evaluation_id = fields.String()
    revision = fields.Integer()
    user_id = fields.String(**about("The account, or the API key that acted for it."))
    action = Choice(list(ReceiptAction))
    comment = fields.String(allow_none=True)
    created_at = Timestamp()


class DisputeCreate(CamelSchema):
    """Answers that an agent thinks are wrong, each with what it ought to be and why."""

    reason = Text(4_000, low=1, multiline=True, required=True)
    criteria = Items(Nested(CriterionRatingCreate), low=1, high=200, required=True)
    addressee_id = Reference("user", **about("Account of a lead; by default any lead of the team."))

    @validates_schema
    def _check_reasons(self, data: dict[str, Any], **_: Any) -> None:
        for index, rating in enumerate(data.get("criteria", ())):
            if not rating.get("reason"):
                message = "Say of each criterion why its answer is wrong."
                raise reject(f"criteria[{index}].reason", message, code=REQUIRED)


class DisputeShareSchema(AnswerSchema):
    """A share with Wilson's 95 % interval."""

    value = fields.Float()
    low = fields.Float()
    high = fields.Float()
    hits = fields.Integer(**about("The numerator of the share."))
    count = fields.Integer(**about("What the share is of."))


def _share(description: str) -> Nested:
    metadata = {"description": f"{description}; null of none."}
    return Nested(DisputeShareSchema, allow_none=True, metadata=metadata)


class DisputedCriterionSchema(AnswerSchema):
    """Disputes of one criterion, and the share of them that was upheld."""

    key = fields.String()
    title = fields.String()
    disputed = _share("Disputes with this criterion, of all disputes")
    upheld = _share("Answers that an accepted dispute has changed, of the decided ones")


class AnalyticsDisputesSchema(AnswerSchema):
    """Disputes of a selection: a measurement of the judge."""

    period = Nested(AnalyticsPeriodSchema)
    evaluations = fields.Integer()
    disputed = _share("Evaluations with a dispute, of all")
    upheld = _share("Accepted disputes, of the decided ones")
    criteria = fields.List(Nested(DisputedCriterionSchema))
