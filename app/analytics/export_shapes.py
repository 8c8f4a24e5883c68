"""Shapes of exports."""

from zoneinfo import ZoneInfo

from marshmallow import fields

from app.analytics.query_fields import Day, Zone
from app.evaluations.schemas.filters import EvaluationFilters
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, Flag, Items, Moment, Nested, Text

DATASETS = (
    "evaluations",
    "criteria",
    "segments",
    "executives",
    "campaigns",
    "call_centers",
    "trends",
    "usage",
)
FORMATS = ("csv", "json", "jsonl", "xlsx", "parquet")
STATUSES = ("queued", "running", "ready", "failed", "canceled", "expired")


class ExportFilters(EvaluationFilters):
    """The filters of GET /evaluations; leaderboards and trends take those of their views."""

    current = Flag()


class ExportCreate(CamelSchema):
    """What an export is to hold, and how it is to be written."""

    dataset = Choice(
        DATASETS,
        required=True,
        metadata={
            "description": "The key also needs the scope of what is exported: `evaluations:read` "
            "for evaluations, criteria and segments, `analytics:read` for executives, campaigns, "
            "call_centers and trends, `usage:read` for usage."
        },
    )
    format = Choice(FORMATS, required=True)
    start = Day(
        data_key="from",
        metadata={
            "description": "On createdAt; without it from the beginning. Leaderboards and "
            "trends begin 30 days before `to`."
        },
    )
    end = Day(data_key="to", metadata={"description": "Exclusive; without it all there is."})
    timezone = Zone(
        load_default=lambda: ZoneInfo("UTC"),
        metadata={"description": "In which dates begin and moments are written."},
    )
    filters = Nested(ExportFilters, load_default=dict)
    columns = Items(Text(64, low=1), low=1, high=100)
    delimiter = Choice(("comma", "semicolon"), load_default="comma")
    include_text = Flag(
        load_default=False,
        metadata={
            "description": "Adds words of the conversation: quotes, texts of segments. "
            "Needs the scope `conversations:read` as well."
        },
    )
    file_name = Text(120, low=1)


class ExportAcceptedSchema(CamelSchema):
    """Where the export can be followed."""

    job_id = fields.String(required=True, metadata={"example": "exp_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(STATUSES, required=True)
    created_at = Moment(required=True)
    status_url = fields.String(required=True, metadata={"format": "uri"})


class ExportErrorSchema(CamelSchema):
    """Why there is no file."""

    code = Choice(("TOO_MANY_ROWS", "INTERRUPTED", "INTERNAL"), required=True)
    message = fields.String(required=True)


class ExportSchema(CamelSchema):
    """One export; the link is signed, needs no key, and is made anew with every look."""

    job_id = fields.String(required=True)
    status = Choice(STATUSES, required=True)
    dataset = Choice(DATASETS, required=True)
    format = Choice(FORMATS, required=True)
    progress = fields.Integer(required=True, metadata={"minimum": 0, "maximum": 100})
    row_count = fields.Integer(required=True, allow_none=True)
    file_size_bytes = fields.Integer(required=True, allow_none=True)
    sha256 = fields.String(required=True, allow_none=True)
    download_url = fields.String(required=True, allow_none=True, metadata={"format": "uri"})
    download_expires_at = Moment(required=True, allow_none=True)
    created_by = fields.String(required=True, metadata={"description": "Id of the API key."})
    created_at = Moment(required=True)
    started_at = Moment(required=True, allow_none=True)
    completed_at = Moment(required=True, allow_none=True)
    expires_at = Moment(required=True, allow_none=True)
    error = Nested(ExportErrorSchema, required=True, allow_none=True)
