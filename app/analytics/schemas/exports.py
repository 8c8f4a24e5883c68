"""Schemas of exports."""

from zoneinfo import ZoneInfo

from marshmallow import fields

from app.analytics.enums import Dataset, ExportStatus, Format
from app.analytics.schemas.reports import Day
from app.evaluations.schemas.evaluations import EvaluationFilters
from app.web.schemas.base import AnswerSchema, CamelSchema, about
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
        **about(
            "The key also requires the scope of the exported rows: `evaluations:read` "
            "for evaluations, criteria, segments, coaching and moments, `analytics:read` for "
            "executives, campaigns, call_centers and trends, `usage:read` for usage, `coaching:read` "
            "for coaching_sessions."
        ),
    )
    format = Choice(list(Format), required=True)
    start = Day(
        data_key="from",
        **about(
            "On conversationAt; by default all time. Leaderboards and trends begin 30 days "
            "before `to` by default."
        ),
    )
    end = Day(data_key="to", **about("Exclusive; by default now."))
    timezone = Zone(
        load_default=lambda: ZoneInfo("UTC"),
        **about("Dates begin and times are written in this zone."),
    )
    filters = Nested(ExportFilters, load_default=dict)
    columns = Items(Text(64, low=1), low=1, high=100)
    delimiter = Choice(("comma", "semicolon"), load_default="comma")
    include_text = Flag(
        load_default=False,
        **about(
            "Adds words of the conversation: quotes, texts of segments, summaries and advice. "
            "Requires the scope `conversations:read` as well."
        ),
    )
    file_name = FileName(120)


class ExportQuery(PageQuery):
    dataset = Choice(list(Dataset))
    status = Choices(list(ExportStatus))
    sort = sort_field("createdAt")


class ExportAcceptedSchema(AnswerSchema):
    """A queued export, and the link to its status."""

    job_id = fields.String(metadata={"example": "exp_01k9zq4v2me8wb7xq3s5ndt6ha"})
    status = Choice(list(ExportStatus))
    created_at = Timestamp()
    status_url = fields.String(metadata={"format": "uri"})


class ExportErrorSchema(AnswerSchema):
    """The reason why there is no file."""

    code = Choice(("TOO_MANY_ROWS", "INTERRUPTED", "INTERNAL"))
    message = fields.String()


class ExportSchema(AnswerSchema):
    """One export; each answer has a new signed download link, which requires no key."""

    job_id = fields.String()
    status = Choice(list(ExportStatus))
    dataset = Choice(list(Dataset))
    format = Choice(list(Format))
    progress = fields.Integer(metadata={"minimum": 0, "maximum": 100})
    row_count = fields.Integer(allow_none=True)
    file_size_bytes = fields.Integer(allow_none=True)
    sha256 = fields.String(allow_none=True)
    download_url = fields.String(allow_none=True, metadata={"format": "uri"})
    download_expires_at = Timestamp(allow_none=True)
    created_by = fields.String(**about("Id of the API key, or of the user of the dashboard."))
    created_at = Timestamp()
    started_at = Timestamp(allow_none=True)
    completed_at = Timestamp(allow_none=True)
    expires_at = Timestamp(allow_none=True)
    error = Nested(ExportErrorSchema, allow_none=True)
