"""Schemas of re-evaluations, of one evaluation or in bulk."""

from typing import Any

from marshmallow import fields, validates_schema

from app.evaluations.enums import Status
from app.evaluations.schemas.evaluations import CurrentFilters
from app.web.schemas.base import REQUIRED, AnswerSchema, CamelSchema, about, reject
from app.web.schemas.fields import Choice, Flag, Nested, Reference, Timestamp, Whole

STATUSES = ("queued", "running", "completed", "failed")


class ReEvaluateBody(CamelSchema):
    scorecard_id = Reference("sc", **about("By default the same scorecard."))
    scorecard_version = Whole(low=1, high=1_000_000, **about("By default the current version."))


class ReEvaluateMany(ReEvaluateBody):
    """The evaluations of a bulk re-evaluation, and its scorecard."""

    filters = Nested(
        CurrentFilters, required=True, **about("`{}` selects all current evaluations.")
    )
    dry_run = Flag(load_default=False, **about("Only count them."))

    @validates_schema
    def _check_version(self, data: dict[str, Any], **_: Any) -> None:
        if "scorecard_version" in data and "scorecard_id" not in data:
            raise reject("scorecardId", "scorecardVersion requires scorecardId.", code=REQUIRED)


class ReEvaluationAcceptedSchema(AnswerSchema):
    id = fields.String(metadata={"example": "eval_01k9zq4v2me8wb7xq3s5ndt6ha"})
    revision = fields.Integer()
    status = Choice(list(Status))
    supersedes_id = fields.String(allow_none=True)
    scorecard_id = fields.String()
    scorecard_version = fields.Integer()
    status_url = fields.String(metadata={"format": "uri"})


class ReEvaluationCounts(AnswerSchema):
    """Numbers of evaluations; the others add up to `selected`."""

    selected = fields.Integer(
        **about("Number of evaluations that matched when this was requested.")
    )
    queued = fields.Integer(**about("Waiting, or being judged."))
    completed = fields.Integer()
    failed = fields.Integer()
    canceled = fields.Integer(**about("Replaced by the evaluation of a newer transcript."))
    skipped = fields.Integer(**about("Skipped because they no longer matched."))


class ReEvaluationErrorSchema(AnswerSchema):
    code = Choice(("INTERNAL",))
    message = fields.String()


class ReEvaluationSchema(AnswerSchema):
    id = fields.String(metadata={"example": "reev_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(STATUSES)
    count = fields.Integer(**about("Number of matching evaluations."))
    scorecard_id = fields.String(allow_none=True)
    scorecard_version = fields.Integer(allow_none=True)
    counts = Nested(ReEvaluationCounts)
    error = Nested(ReEvaluationErrorSchema, allow_none=True)
    created_at = Timestamp()


class ReEvaluationManyAcceptedSchema(AnswerSchema):
    """The number of matching evaluations; a dry run has nothing else."""

    count = fields.Integer()
    dry_run = fields.Boolean()
    id = fields.String(allow_none=True)
    status = Choice(STATUSES, allow_none=True)
    status_url = fields.String(allow_none=True, metadata={"format": "uri"})
