"""Schemas of the quality of a judgement: confidence, fallbacks and costs."""

from marshmallow import fields

from app.ai.language_model.asking import FORMS
from app.ai.model_server import Reason
from app.web.schemas.base import StoredSchema
from app.web.schemas.fields import Choice, Nested


class CalibrationNoteSchema(StoredSchema):
    """The calibration profile of the score, or the reason why it was not applied."""

    profile_id = fields.String(required=True)
    version = fields.Integer(required=True)
    applied = fields.Boolean(required=True)
    reason = fields.String(
        required=True, allow_none=True, metadata={"description": "Why it was not applied."}
    )
    scorecard_score = fields.Integer(
        required=True, metadata={"description": "The score that the scorecard alone gives."}
    )


class FallbackSchema(StoredSchema):
    """The reason why the rules judged without the language model."""

    reason = Choice(list(Reason), required=True)
    message = fields.String(required=True)


class ModelUseSchema(StoredSchema):
    """The use of the language model for this conversation."""

    returned_model = fields.String(required=True, allow_none=True)
    request_id = fields.String(required=True, allow_none=True)
    prompt_tokens = fields.Integer(required=True, allow_none=True)
    answer_tokens = fields.Integer(required=True, allow_none=True)
    latency_ms = fields.Integer(required=True)
    repairs = fields.Integer(
        required=True,
        metadata={"description": "Requests to correct the form of an answer."},
    )
    answer_form = Choice(FORMS, required=True, allow_none=True)
    cached = fields.Boolean(
        required=True, metadata={"description": "Whether the same question was answered before."}
    )
    messages_omitted = fields.Integer(
        required=True, metadata={"description": "Messages left out of the middle of the prompt."}
    )
    messages_shortened = fields.Integer(
        required=True, metadata={"description": "Messages of which the model saw only the start."}
    )
    masked_count = fields.Integer(
        required=True, metadata={"description": "Stretches that were masked before sending."}
    )
    model_score = fields.Integer(required=True, allow_none=True)
    embedded_score = fields.Integer(required=True, allow_none=True)


class QualitySchema(StoredSchema):
    """The quality of the judgement itself."""

    unverified_evidence_count = fields.Integer(required=True)
    model_calls = fields.Integer(
        required=True, metadata={"description": "Requests sent to a language model, in total."}
    )
    retries = fields.Integer(required=True)
    cost_estimate = fields.Float(required=True, allow_none=True)
    fallback = Nested(
        FallbackSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null if the configured judge has judged."},
    )
    model = Nested(
        ModelUseSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null if no language model was needed."},
    )
    calibration = Nested(
        CalibrationNoteSchema,
        required=True,
        allow_none=True,
        metadata={"description": "Null where no profile was active, or people have overridden."},
    )
