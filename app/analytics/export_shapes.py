"""Shapes of exports (contract B11)."""

from typing import Any
from zoneinfo import ZoneInfo

from marshmallow import ValidationError, fields, validates_schema

from app.analytics.query_fields import Day, Zone
from app.evaluations.vocabulary import (
    RESOLUTIONS,
    TRENDS,
    Channel,
    ReviewStatus,
    SourceType,
    Status,
)
from app.web.fields import Choice, Flag, Items, Moment, Nested, Pattern, Reference, Text, Whole
from app.web.messages import ENUM, RANGE, TYPE, Message
from app.web.shapes import CamelSchema, reject

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


class Words(fields.Field[list[str]]):
    """Words of a closed list, as a comma list or as a list; loads as a list."""

    def __init__(self, choices: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._choices = choices
        self.metadata = {
            "oneOf": [
                {"type": "string", "description": f"Comma list of {', '.join(choices)}"},
                {"type": "array", "items": {"type": "string", "enum": choices}},
            ],
            **self.metadata,
        }

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> list[str]:
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list) or not words:
            raise ValidationError(Message(TYPE, "This must be a text or a list of texts."))
        for word in words:
            if word not in self._choices:
                raise ValidationError(
                    Message(ENUM, f"{word!r} is none of {', '.join(self._choices)}.")
                )
        return words


class ExportFilters(CamelSchema):
    """The filters of GET /evaluations; leaderboards and trends take those of their views."""

    engagement_id = Reference("eng")
    campaign_id = Reference("camp")
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    source_type = Words([str(each) for each in SourceType])
    source_id = Pattern(
        "(conv|aud|call)_[0-7][0-9a-hjkmnp-tv-z]{25}",
        "This must be the id of a conversation, an audio file or a voice call.",
    )
    channel = Words([str(each) for each in Channel])
    status = Words([str(each) for each in Status])
    review_status = Words([str(each) for each in ReviewStatus])
    scorecard_id = Reference("sc")
    min_score = Whole(low=0, high=100)
    max_score = Whole(low=0, high=100)
    passed = Flag()
    auto_failed = Flag()
    sentiment_trend = Words(list(TRENDS))
    resolution = Words(list(RESOLUTIONS))
    topic = Text(100, low=1)
    language = Pattern(
        "[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", "This must be a language tag such as en or hi-IN."
    )
    q = Text(200, low=1)
    current = Flag()


class ExportCreate(CamelSchema):
    """What an export is to hold, and how it is to be written."""

    dataset = Choice(DATASETS, required=True)
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
        metadata={"description": "With words of the conversation: quotes, texts of segments."},
    )
    file_name = Text(120, low=1)

    @validates_schema
    def _check_delimiter(self, data: dict[str, Any], **_: Any) -> None:
        filters = data["filters"]
        if filters.get("min_score", 0) > filters.get("max_score", 100):
            raise reject("filters", "maxScore may not be below minScore.", code=RANGE)


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
