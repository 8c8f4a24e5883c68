"""Schemas of reviews; they are stored in this form."""

from marshmallow import fields

from app.evaluations.enums import RESOLUTIONS, REVIEW_ACTIONS, ReviewStatus
from app.evaluations.schemas.evidence import EvidenceSchema
from app.web.schemas.base import StoredSchema
from app.web.schemas.fields import Choice, Nested


class OriginalAnswerSchema(StoredSchema):
    """The judge's answer before a reviewer changed it."""

    applicable = fields.Boolean(required=True)
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    judged_by = Choice(("rule", "metric", "model"), required=True, allow_none=True)
    explanation = fields.String(required=True, allow_none=True)
    confidence = fields.Float(required=True, allow_none=True)


class ReviewedCriterionSchema(StoredSchema):
    """A reviewer's answer to one criterion."""

    key = fields.String(required=True)
    applicable = fields.Boolean(required=True)
    answer = fields.Raw(required=True, allow_none=True, metadata={"type": ["string", "number"]})
    normalized_score = fields.Float(required=True, allow_none=True)
    reason = fields.String(required=True, allow_none=True)
    evidence = fields.List(Nested(EvidenceSchema), required=True)


class ReviewSchema(StoredSchema):
    """One review; it never changes."""

    id = fields.String(required=True, metadata={"example": "rev_01k9zq4v2me8wb7xq3s5ndt6ha"})
    evaluation_id = fields.String(required=True)
    revision = fields.Integer(required=True)
    action = Choice(REVIEW_ACTIONS, required=True)
    reviewer = fields.String(required=True, metadata={"example": "Nora Field"})
    reviewer_ref = fields.String(
        required=True, allow_none=True, metadata={"example": "qa-nora", "description": "Your id."}
    )
    reason = fields.String(required=True, allow_none=True)
    criteria = fields.List(Nested(ReviewedCriterionSchema), required=True)
    confirms_others = fields.Boolean(required=True)
    score = fields.Integer(
        required=True,
        allow_none=True,
        metadata={"description": "The reviewer's own overall score, 0 to 100: a label."},
    )
    resolution = Choice(RESOLUTIONS, required=True, allow_none=True)
    satisfaction = fields.Float(required=True, allow_none=True)
    status_before = Choice(list(ReviewStatus), required=True)
    status_after = Choice(list(ReviewStatus), required=True)
    score_before = fields.Integer(required=True)
    score_after = fields.Integer(required=True)
    created_at = fields.String(required=True, metadata={"format": "date-time"})
    sealed = fields.Boolean(
        metadata={
            "description": "Its answers are left out until its calibration round is complete."
        }
    )
