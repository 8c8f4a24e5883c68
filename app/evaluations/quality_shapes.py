"""Shapes of how a judgement itself went."""

from marshmallow import fields

from app.evaluations.stored_shapes import StoredSchema
from app.web.fields import Nested


class CalibrationNoteSchema(StoredSchema):
    """Which calibration profile made the score, or why the active one did not."""

    profile_id = fields.String(required=True)
    version = fields.Integer(required=True)
    applied = fields.Boolean(required=True)
    reason = fields.String(
        required=True, allow_none=True, metadata={"description": "Why it was not applied."}
    )
    scorecard_score = fields.Integer(
        required=True, metadata={"description": "The score that the scorecard alone gives."}
    )


class QualitySchema(StoredSchema):
    """How the judgement itself went."""

    unverified_evidence_count = fields.Integer(required=True)
    model_calls = fields.Integer(required=True)
    retries = fields.Integer(required=True)
    cost_estimate = fields.Float(required=True, allow_none=True)
    calibration = Nested(
        CalibrationNoteSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null where no profile was active, or people have overridden."},
    )
