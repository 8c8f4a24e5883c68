"""Schemas of trials of scorecards."""

from typing import Any

from marshmallow import fields, validates_schema

from app.scorecards.schemas.document import CHANNELS, ScorecardCreate
from app.web.schemas.base import REQUIRED, AnswerSchema, CamelSchema, about, reject
from app.web.schemas.fields import Choice, Nested, Reference, Timestamp, Whole

# Values with their labels.
TRIAL_STATUSES = {
    "queued": "Waiting",
    "running": "Being judged",
    "completed": "Done",
    "failed": "Failed",
}


class ScorecardTrialCreate(CamelSchema):
    """A scorecard to try, and the one to compare it with."""

    scorecard = Nested(
        ScorecardCreate, required=True, **about("As `POST /scorecards` takes it; it is not stored.")
    )
    baseline_id = Reference(
        "sc", **about("The scorecard to compare with; by default that of the channel.")
    )
    baseline_version = Whole(low=1, high=1_000_000, **about("By default its current version."))

    @validates_schema
    def _check_version(self, data: dict[str, Any], **_: Any) -> None:
        if "baseline_version" in data and "baseline_id" not in data:
            raise reject("baselineId", "baselineVersion requires baselineId.", code=REQUIRED)


class TriedConversationSchema(AnswerSchema):
    """One conversation, judged by both scorecards."""

    evaluation_id = fields.String()
    before = fields.Integer(
        allow_none=True, **about("Its score by the baseline; null without a verdict.")
    )
    after = fields.Integer(
        allow_none=True, **about("Its score by the tried scorecard; null without a verdict.")
    )
    passed_before = fields.Boolean(allow_none=True, **about("Whether the baseline passes it."))
    passed_after = fields.Boolean(
        allow_none=True, **about("Whether the tried scorecard passes it.")
    )


class TrialSideSchema(AnswerSchema):
    """Figures of one scorecard over the conversations to which both give a verdict."""

    mean_score = fields.Float(allow_none=True)
    pass_rate = fields.Float(allow_none=True)


class TrialAnswerSchema(AnswerSchema):
    """An answer to a criterion, and conversations that have it."""

    answer = fields.String(
        **about(
            "The answer, the share of the points of what is measured, `not applicable` or `not judged`."
        )
    )
    count = fields.Integer(**about("Conversations with it."))
    evaluation_ids = fields.List(
        fields.String(), **about("The newest evaluations of these conversations, at most 5.")
    )


class TrialCriterionSchema(AnswerSchema):
    key = fields.String()
    title = fields.String()
    answers = fields.List(Nested(TrialAnswerSchema), **about("The most frequent one first."))


class TrialResultSchema(AnswerSchema):
    """Results of the two scorecards on the same conversations."""

    judged = fields.Integer(**about("Conversations that were judged."))
    compared = fields.Integer(**about("Those to which both scorecards give a verdict."))
    without_verdict_before = fields.Integer(**about("Those without a verdict by the baseline."))
    without_verdict_after = fields.Integer(
        **about("Those without a verdict by the tried scorecard.")
    )
    before = Nested(TrialSideSchema)
    after = Nested(TrialSideSchema)
    criteria = fields.List(
        Nested(TrialCriterionSchema),
        **about("The answers to each criterion of the tried scorecard."),
    )
    conversations = fields.List(
        Nested(TriedConversationSchema), **about("At most 200, the largest change first.")
    )


class TrialErrorSchema(AnswerSchema):
    code = Choice(("INTERNAL",))
    message = fields.String()


class ScorecardTrialSchema(AnswerSchema):
    id = fields.String(metadata={"example": "trial_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(TRIAL_STATUSES)
    progress = fields.Integer()
    channel = Choice(CHANNELS)
    baseline_id = fields.String(**about("The scorecard that it is compared with."))
    baseline_version = fields.Integer(**about("The version that it is compared with."))
    result = Nested(
        TrialResultSchema, allow_none=True, **about("Null until the trial is completed.")
    )
    error = Nested(TrialErrorSchema, allow_none=True)
    created_at = Timestamp()
    expires_at = Timestamp(**about("When it is deleted, a day after the request."))
