"""Schemas of exports."""

from zoneinfo import ZoneInfo

from marshmallow import fields

from app.analytics.enums import Dataset, ExportStatus, Format
from app.analytics.schemas.reports import Day
from app.evaluations.schemas.evaluations import EvaluationFilters
from app.web.schemas.base import CamelSchema
from app.web.schemas.fields import Choice, FileName, Flag, Items, Nested, Text, Timestamp, Zone
from app.web.schemas.query_fields import Choices, PageQuery, sort_field


class ExportFilters(EvaluationFilters):
    """The filters of GET /evaluations; leaderboards and trends take those of their reports."""

    current = Flag()


class ExportCreate(CamelSchema):
    """The dataset, the period, the filters and the format of an export."""

    dataset = Choice(
        list(Dataset),
        required=True,
        metadata={
            "description": "The key also requires the scope of the exported rows: `evaluations:read` "
            "for evaluations, criteria, segments, coaching and moments, `analytics:read` for "
            "executives, campaigns, call_centers and trends, `usage:read` for usage."
        },
    )
    format = Choice(list(Format), required=True)
    start = Day(
        data_key="from",
        metadata={
            "description": "On conversationAt; by default all time. Leaderboards and trends begin 30 days "
            "before `to` by default."
        },
    )
    end = Day(data_key="to", metadata={"description": "Exclusive; by default now."})
    timezone = Zone(
        load_default=lambda: ZoneInfo("UTC"),
        metadata={"description": "Dates begin and times are written in this zone."},
    )
    filters = Nested(ExportFilters, load_default=dict)
    columns = Items(Text(64, low=1), low=1, high=100)
    delimiter = Choice(("comma", "semicolon"), load_default="comma")
    include_text = Flag(
        load_default=False,
        metadata={
            "description": "Adds words of the conversation: quotes, texts of segments, summaries and advice. "
            "Requires the scope `conversations:read` as well."
        },
    )
    file_name = FileName(120)


class ExportQuery(PageQuery):
    """Query of the list of exports."""

    dataset = Choice(list(Dataset))
    status = Choices(list(ExportStatus))
    sort = sort_field("createdAt")


class ExportAcceptedSchema(CamelSchema):
    """A queued export, and the link to its status."""

    job_id = fields.String(required=True, metadata={"example": "exp_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(list(ExportStatus), required=True)
    created_at = Timestamp(required=True)
    status_url = fields.String(required=True, metadata={"format": "uri"})


class ExportErrorSchema(CamelSchema):
    """The reason why there is no file."""

    code = Choice(("TOO_MANY_ROWS", "INTERRUPTED", "INTERNAL"), required=True)
    message = fields.String(required=True)


class ExportSchema(CamelSchema):
    """One export; each answer has a new signed download link, which requires no key."""

    job_id = fields.String(required=True)
    status = Choice(list(ExportStatus), required=True)
    dataset = Choice(list(Dataset), required=True)
    format = Choice(list(Format), required=True)
    progress = fields.Integer(required=True, metadata={"minimum": 0, "maximum": 100})
    row_count = fields.Integer(required=True, allow_none=True)
    file_size_bytes = fields.Integer(required=True, allow_none=True)
    sha256 = fields.String(required=True, allow_none=True)
    download_url = fields.String(required=True, allow_none=True, metadata={"format": "uri"})
    download_expires_at = Timestamp(required=True, allow_none=True)
    created_by = fields.String(
        required=True,
        metadata={"description": "Id of the API key, or of the user of the dashboard."},
    )
    created_at = Timestamp(required=True)
    started_at = Timestamp(required=True, allow_none=True)
    completed_at = Timestamp(required=True, allow_none=True)
    expires_at = Timestamp(required=True, allow_none=True)
    error = Nested(ExportErrorSchema, required=True, allow_none=True)
