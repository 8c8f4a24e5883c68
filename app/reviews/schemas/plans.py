"""Schemas of review plans, their draws and assignments, and of reviewers."""

from typing import Any

from marshmallow import fields

from app.evaluations.schemas.evaluations import EvaluationFilters
from app.reviews.enums import AssignmentState
from app.web.records import RecordSchema
from app.web.schemas.base import AnswerSchema, CamelSchema, Changes
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    Nested,
    Number,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
    Zone,
)
from app.web.schemas.query_fields import Choices, PageQuery, sort_field


class ShareSchema(CamelSchema):
    """A reviewer of a plan, and the share of the draw; two shares get twice as many as one."""

    user_id = Reference("user", required=True)
    share = Whole(low=1, high=100, load_default=1)


class PlanFilters(EvaluationFilters):
    """The filters of the list of evaluations, besides those that a draw sets itself."""

    class Meta(EvaluationFilters.Meta):
        exclude = ("ids", "by_day", "source_id", "reviewed_by", "said", "status")


class PlanCreate(CamelSchema):
    """The fields of a new plan."""

    name = Text(100, low=1, required=True)
    filters = Nested(PlanFilters, load_default=dict)
    per_agent = Whole(low=1, high=100, allow_none=True, load_default=None)
    percent = Number(low=0.1, high=100, allow_none=True, load_default=None)
    minimum = Whole(low=0, high=100, load_default=1)
    reviewers = Items(Nested(ShareSchema), low=1, high=100, required=True)
    blind = Flag(load_default=False)
    due_days = Whole(low=1, high=30, load_default=5)
    weekday = Whole(high=6, load_default=0)
    timezone = Zone(load_default="UTC")
    active = Flag(load_default=True)


class PlanChange(Changes, PlanCreate):
    """The fields of a plan that may change; the next draw uses them."""


class PlanSchema(RecordSchema):
    filters = Nested(PlanFilters)
    per_agent = fields.Integer(allow_none=True)
    percent = fields.Float(allow_none=True)
    minimum = fields.Integer()
    reviewers = fields.List(fields.Dict())
    blind = fields.Boolean()
    due_days = fields.Integer()
    weekday = fields.Integer()
    timezone = fields.String()
    seed = fields.Integer()
    drawn_week = fields.String(allow_none=True)


class AgentCountSchema(AnswerSchema):
    """Numbers of one agent in a draw; `wanted` above `drawn`: the agent had too few conversations."""

    executive_id = fields.String()
    executive = fields.String()
    pool = fields.Integer()
    wanted = fields.Integer()
    drawn = fields.Integer()


class DrawSchema(AnswerSchema):
    """One draw of a plan; the seed repeats it."""

    id = fields.String()
    plan_id = fields.String()
    week = fields.String()
    seed = fields.String()
    counts = fields.List(Nested(AgentCountSchema))
    drawn_at = Timestamp()


class DrawQuery(PageQuery):
    sort = sort_field("week", default="-week")


class AssignmentQuery(PageQuery):
    reviewer = Pattern(
        "me|user_[0-9a-z]{26}", "This must be me or the id of a person, such as user_01jd3v…"
    )
    plan_id = Reference("plan")
    executive_id = Reference("exec")
    state: Any = Choices(list(AssignmentState))
    due_before = Timestamp()
    sort = sort_field("dueAt", "createdAt", default="dueAt")


class AssignmentSchema(AnswerSchema):
    id = fields.String()
    plan_id = fields.String()
    plan = fields.String()
    week = fields.String()
    evaluation_id = fields.String()
    executive_id = fields.String()
    executive = fields.String()
    reviewer_id = fields.String()
    blind = fields.Boolean()
    state = Choice(list(AssignmentState))
    reason = fields.String(allow_none=True)
    starts_at = Timestamp()
    due_at = Timestamp()
    started_at = Timestamp(allow_none=True)
    done_at = Timestamp(allow_none=True)
    created_at = Timestamp()


class ReplaceBody(CamelSchema):
    """The reason why another conversation is to be drawn."""

    reason = Text(500, low=1, required=True)


class ReplacedSchema(AnswerSchema):
    """The assignment that was taken back, and the one in its place, if the agent has another."""

    replaced = Nested(AssignmentSchema)
    replacement = Nested(AssignmentSchema, allow_none=True)


class MeanDifferenceSchema(AnswerSchema):
    """A mean difference of scores with its 95 % interval; the bounds are null below two scores."""

    mean = fields.Float()
    low = fields.Float(allow_none=True)
    high = fields.Float(allow_none=True)
    count = fields.Integer()


class ReviewerSchema(AnswerSchema):
    """Figures of one reviewer; a difference above 0 is milder than the judge, or than the others."""

    reviewer = fields.String()
    count = fields.Integer()
    median_seconds = fields.Float(allow_none=True)
    from_judge = Nested(MeanDifferenceSchema, allow_none=True)
    from_others = Nested(MeanDifferenceSchema, allow_none=True)
    agreement = fields.Float(allow_none=True)
    answer_count = fields.Integer()


class ReviewersSchema(AnswerSchema):
    reviewers = fields.List(Nested(ReviewerSchema))
