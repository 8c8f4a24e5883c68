"""Shapes of audio files (contract B7)."""

from typing import Any

from marshmallow import fields, validate, validates_schema

from app.evaluations.enums import DIRECTIONS
from app.web.fields import (
    Choice,
    Flag,
    Labels,
    LanguageTag,
    Moment,
    Nested,
    Pattern,
    Reference,
    Text,
    Whole,
)
from app.web.messages import FORMAT, RANGE, Message
from app.web.pagination import PeriodQuery, sort_field
from app.web.query_fields import Choices, QueryFlag, QueryWhole
from app.web.shapes import CamelSchema, reject

CONTENT_TYPES = (
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
)
STATUSES = (
    "pending_upload",
    "uploaded",
    "queued",
    "transcribing",
    "transcribed",
    "evaluating",
    "processed",
    "failed",
    "expired",
)
STAGES = ("upload", "decode", "transcribe", "redact", "evaluate", "notify")
_MOST_CHANNELS = 8


class ChannelMapSchema(CamelSchema):
    """Which channel of the recording holds whom, counted from 0."""

    agent = Whole(high=_MOST_CHANNELS - 1)
    customer = Whole(high=_MOST_CHANNELS - 1)

    @validates_schema
    def _check_channels(self, data: dict[str, int], **_: Any) -> None:
        if data and len(set(data.values())) < len(data):
            raise reject("customer", "Each channel can hold only one of them.", code=RANGE)


class UploadCreate(CamelSchema):
    """A recording that is to be uploaded."""

    file_name = Text(
        255,
        low=1,
        validate=validate.Regexp(
            r"[^/\\]+\Z", error=Message(FORMAT, "This must be a name alone, without a folder.")
        ),
        required=True,
    )
    content_type = Choice(CONTENT_TYPES, required=True)
    size_bytes = Whole(low=1, required=True)
    sha256 = Pattern("[0-9a-fA-F]{64}", "This must be 64 hex digits.", allow_none=True)
    engagement_id = Reference("eng", allow_none=True)
    campaign_id = Reference("camp", allow_none=True)
    call_center_id = Reference("cc", allow_none=True)
    executive_id = Reference("exec", allow_none=True)
    language = LanguageTag(allow_none=True)
    channel_map = Nested(ChannelMapSchema, allow_none=True)
    recorded_at = Moment(allow_none=True)
    direction = Choice(DIRECTIONS, load_default="unknown")
    external_id = Text(255, low=1, allow_none=True)
    auto_process = Flag(load_default=False)
    labels = Labels(load_default=dict)


class UploadSchema(CamelSchema):
    """Where the bytes go: send them with the method and the headers, once."""

    audio_file_id = fields.String(required=True)
    upload_url = fields.String(required=True, metadata={"format": "uri"})
    method = Choice(("PUT",), required=True)
    headers = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    expires_at = Moment(required=True)
    max_size_bytes = fields.Integer(required=True)
    status = Choice(STATUSES, required=True)


class DownloadSchema(CamelSchema):
    """A signed link to the bytes; it needs no key."""

    audio_file_id = fields.String(required=True)
    download_url = fields.String(required=True, metadata={"format": "uri"})
    expires_at = Moment(required=True)
    content_type = fields.String(required=True)
    size_bytes = fields.Integer(required=True)
    file_name = fields.String(required=True)


class ProcessWish(CamelSchema):
    """What is asked of the work; all optional."""

    language = LanguageTag()
    scorecard_id = Reference("sc")
    channel_map = Nested(ChannelMapSchema)
    redact = Flag(
        metadata={"description": "Mask personal data; without it, as the service is set."}
    )
    force = Flag()
    priority = Choice(("normal", "high"))


class ProcessSchema(CamelSchema):
    """The job that was queued, or the one that runs."""

    audio_file_id = fields.String(required=True)
    job_id = fields.String(required=True)
    status = Choice(STATUSES, required=True)
    queued_at = Moment(required=True)
    status_url = fields.String(required=True, metadata={"format": "uri"})


class AudioFailureSchema(CamelSchema):
    """Why the work ended without a result."""

    code = fields.String(required=True, metadata={"example": "UNSUPPORTED_MEDIA"})
    message = fields.String(required=True)


class ProcessingStageSchema(CamelSchema):
    """One stage of the work; its times are texts already."""

    name = Choice(STAGES, required=True)
    status = Choice(("pending", "running", "done", "failed", "skipped"), required=True)
    started_at = fields.String(
        data_key="startedAt",
        attribute="startedAt",
        required=True,
        allow_none=True,
        metadata={"format": "date-time"},
    )
    completed_at = fields.String(
        data_key="completedAt",
        attribute="completedAt",
        required=True,
        allow_none=True,
        metadata={"format": "date-time"},
    )
    attempts = fields.Integer(required=True)
    error = Nested(AudioFailureSchema, required=True, allow_none=True)


class ProcessingStatusSchema(CamelSchema):
    """How far the work on a recording is."""

    audio_file_id = fields.String(required=True)
    job_id = fields.String(required=True, allow_none=True)
    status = Choice(STATUSES, required=True)
    stage = Choice(STAGES, required=True)
    progress = fields.Integer(required=True, metadata={"minimum": 0, "maximum": 100})
    stages = fields.List(fields.Nested(ProcessingStageSchema), required=True)
    attempts = fields.Integer(required=True)
    evaluation_id = fields.String(required=True, allow_none=True)
    queued_at = Moment(required=True, allow_none=True)
    started_at = Moment(required=True, allow_none=True)
    completed_at = Moment(required=True, allow_none=True)
    error = Nested(AudioFailureSchema, required=True, allow_none=True)


class AudioFileQuery(PeriodQuery):
    """The filters of the list of audio files; `from` and `to` bound createdAt."""

    status = Choices(STATUSES)
    engagement_id = Reference("eng")
    campaign_id = Reference("camp")
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    language = LanguageTag(metadata={"description": "`en` finds en and every en-… too."})
    min_duration = QueryWhole(metadata={"description": "Whole seconds."})
    max_duration = QueryWhole(metadata={"description": "Whole seconds."})
    has_transcript = QueryFlag()
    q = Text(200, low=1, metadata={"description": "Part of the fileName or the externalId."})
    sort = sort_field("createdAt", "recordedAt", "durationSeconds", "sizeBytes")

    @validates_schema
    def _check_durations(self, data: dict[str, Any], **_: Any) -> None:
        if data.get("min_duration", 0) > data.get("max_duration", data.get("min_duration", 0)):
            raise reject("maxDuration", "This may not be below minDuration.", code=RANGE)


class AudioFileSchema(CamelSchema):
    """A recording as it is shown."""

    id = fields.String(required=True, metadata={"example": "aud_01k9zq4d0sfy2r8m6jx1vwq3bt"})
    engagement_id = fields.String(required=True, allow_none=True)
    campaign_id = fields.String(required=True, allow_none=True)
    call_center_id = fields.String(required=True, allow_none=True)
    executive_id = fields.String(required=True, allow_none=True)
    external_id = fields.String(required=True, allow_none=True)
    file_name = fields.String(required=True)
    content_type = fields.String(required=True)
    size_bytes = fields.Integer(required=True)
    sha256 = fields.String(required=True, allow_none=True)
    duration_seconds = fields.Integer(required=True, allow_none=True)
    sample_rate_hz = fields.Integer(required=True, allow_none=True)
    channels = fields.Integer(required=True, allow_none=True)
    codec = fields.String(required=True, allow_none=True)
    channel_map = fields.Dict(
        keys=fields.String(), values=fields.Integer(), required=True, allow_none=True
    )
    direction = Choice(DIRECTIONS, required=True)
    language = fields.String(required=True, allow_none=True)
    detected_language = fields.String(required=True, allow_none=True)
    status = Choice(STATUSES, required=True)
    has_transcript = fields.Boolean(required=True)
    evaluation_id = fields.String(required=True, allow_none=True)
    score = fields.Integer(required=True, allow_none=True)
    recorded_at = Moment(required=True, allow_none=True)
    uploaded_at = Moment(required=True, allow_none=True)
    processed_at = Moment(required=True, allow_none=True)
    created_at = Moment(required=True)
    updated_at = Moment(required=True)
    expires_at = Moment(required=True, allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    error = Nested(AudioFailureSchema, required=True, allow_none=True)
