"""Schemas of the examples that overrides give to the judge."""

from marshmallow import fields

from app.web.schemas.base import AnswerSchema, about
from app.web.schemas.fields import Reference, Timestamp
from app.web.schemas.query_fields import PageQuery, sort_field


class ReviewExampleQuery(PageQuery):
    engagement_id = Reference("eng")
    sort = sort_field("createdAt")


class ReviewExampleSchema(AnswerSchema):
    """A line that people took for something else than the judge did."""

    id = fields.String(metadata={"example": "ex_01k9zq4v2me8wb7xq3s5ndt6ha"})
    engagement_id = fields.String()
    evaluation_id = fields.String(**about("The evaluation that was overridden."))
    criterion_key = fields.String()
    kind = fields.String(**about("What the line is an example of.", example="rude"))
    counts = fields.Boolean(**about("False: it only looks like it."))
    text = fields.String(**about("The sentence, masked as in the transcript."))
    reviewer = fields.String()
    created_at = Timestamp()
