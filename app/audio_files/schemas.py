"""Schemas of audio files, uploads and processing."""

from typing import Any

from marshmallow import fields, validates_schema

from app.audio_files.enums import AudioStatus, ContentType, Stage, StageStatus
from app.evaluations.enums import DIRECTIONS
from app.evaluations.schemas.contacts import CampaignReference
from app.web.schemas.base import RANGE, AnswerSchema, CamelSchema, StoredAnswerSchema, about, reject
from app.web.schemas.fields import (
    Choice,
    FileName,
    Flag,
    Labels,
    LanguageTag,
    Nested,
    PastMoment,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)
from app.web.schemas.query_fields import Choices, PeriodQuery, QueryFlag, QueryWhole, sort_field

_MAX_CHANNELS = 8


class ChannelMapSchema(CamelSchema):
    """Channels of the speakers, counted from 0."""

    agent = Whole(high=_MAX_CHANNELS - 1)
    customer = Whole(high=_MAX_CHANNELS - 1)

    @validates_schema
    def _check_channels(self, data: dict[str, int], **_: Any) -> None:
        if data and len(set(data.values())) < len(data):
            raise reject(
                "customer",
                "channelMap.agent and channelMap.customer must be different channels.",
                code=RANGE,
            )


class UploadCreate(CamelSchema):
    file_name = FileName(255, required=True)
    content_type = Choice(list(ContentType), required=True)
    size_bytes = Whole(low=1, required=True)
    sha256 = Pattern("[0-9a-fA-F]{64}", "sha256 must be 64 hex digits.", allow_none=True)
    engagement_id = Reference("eng", allow_none=True)
    campaign_id = Reference("camp", allow_none=True)
    call_center_id = Reference("cc", allow_none=True)
    executive_id = Reference("exec", allow_none=True)
    language = LanguageTag(allow_none=True)
    channel_map = Nested(ChannelMapSchema, allow_none=True)
    recorded_at = PastMoment(allow_none=True)
    direction = Choice(DIRECTIONS, load_default="unknown")
    external_id = Text(255, low=1, allow_none=True)
    auto_process = Flag(load_default=False)
    scorecard_id = Reference("sc", allow_none=True, **about("By which `autoProcess` judges."))
    labels = Labels(load_default=dict)


class SideUploadSchema(AnswerSchema):
    """A signed upload link: send the file once, with this method and these headers."""

    upload_url = fields.String(metadata={"format": "uri"})
    method = Choice(("PUT",))
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    max_size_bytes = fields.Integer()


class UploadSchema(SideUploadSchema):
    """A signed upload link: send the file once, with this method and these headers."""

    audio_file_id = fields.String()
    expires_at = Timestamp()
    status = Choice(list(AudioStatus))


class SideCreate(CamelSchema):
    """The file of one side of a call, which has one channel."""

    content_type = Choice(list(ContentType), required=True)
    size_bytes = Whole(low=1, required=True)
    sha256 = Pattern("[0-9a-fA-F]{64}", "sha256 must be 64 hex digits.", allow_none=True)
    recorded_at = PastMoment(
        allow_none=True, **about("When this side begins; the later side is silent until then.")
    )


class PairCreate(UploadCreate):
    """A call whose sides are two files; `fileName` names the recording that they become."""

    class Meta(UploadCreate.Meta):
        exclude = ("content_type", "size_bytes", "sha256", "channel_map")

    agent = Nested(SideCreate, required=True)
    customer = Nested(SideCreate, required=True)


class PairSchema(AnswerSchema):
    """Signed upload links for both sides of a call."""

    audio_file_id = fields.String()
    agent = Nested(SideUploadSchema)
    customer = Nested(SideUploadSchema)
    expires_at = Timestamp()
    status = Choice(list(AudioStatus))


class DownloadQuery(CamelSchema):
    """Choice between the muted copy and the original."""

    original = QueryFlag(
        load_default=False, **about("With the masked words; needs the scope audio:original.")
    )


class DownloadSchema(AnswerSchema):
    """A signed download link, usable without an API key."""

    audio_file_id = fields.String()
    download_url = fields.String(metadata={"format": "uri"})
    expires_at = Timestamp()
    content_type = fields.String()
    size_bytes = fields.Integer()
    file_name = fields.String()
    muted = fields.Boolean(**about("The file is a copy in which masked words are silent."))


class ProcessingRequestSchema(CamelSchema):
    language = LanguageTag()
    scorecard_id = Reference("sc")
    channel_map = Nested(ChannelMapSchema)
    redact = Flag(**about("Mask personal data; by default the setting of the service."))
    force = Flag()
    priority = Choice(("normal", "high"))


class ProcessingJobSchema(AnswerSchema):
    """The queued job, or the one that is queued or running already."""

    audio_file_id = fields.String()
    job_id = fields.String()
    status = Choice(list(AudioStatus))
    queued_at = Timestamp()
    status_url = fields.String(metadata={"format": "uri"})


class AudioFailureSchema(AnswerSchema):
    code = fields.String(metadata={"example": "UNSUPPORTED_MEDIA"})
    message = fields.String()


class ProcessingStageSchema(StoredAnswerSchema):
    name = Choice(list(Stage))
    status = Choice(list(StageStatus))
    started_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    completed_at = fields.String(allow_none=True, metadata={"format": "date-time"})
    attempts = fields.Integer()
    error = Nested(AudioFailureSchema, allow_none=True)


class ProcessingStatusSchema(AnswerSchema):
    audio_file_id = fields.String()
    job_id = fields.String(allow_none=True)
    status = Choice(list(AudioStatus))
    stage = Choice(list(Stage))
    progress = fields.Integer(metadata={"minimum": 0, "maximum": 100})
    stages = fields.List(fields.Nested(ProcessingStageSchema))
    attempts = fields.Integer()
    evaluation_id = fields.String(allow_none=True)
    queued_at = Timestamp(allow_none=True)
    started_at = Timestamp(allow_none=True)
    completed_at = Timestamp(allow_none=True)
    error = Nested(AudioFailureSchema, allow_none=True)


class AudioFileQuery(PeriodQuery):
    """Query of the list of audio files; `from` and `to` bound conversationAt."""

    status = Choices(list(AudioStatus))
    engagement_id = Reference("eng")
    campaign_id = CampaignReference()
    call_center_id = Reference("cc")
    executive_id = Reference("exec")
    language = LanguageTag(**about("`en` also finds `en-GB` and other subtags."))
    min_duration = QueryWhole(**about("Whole seconds."))
    max_duration = QueryWhole(**about("Whole seconds."))
    has_transcript = QueryFlag()
    q = Text(200, low=1, **about("Part of the fileName or the externalId."))
    sort = sort_field(
        *("conversationAt", "createdAt", "recordedAt", "durationSeconds", "sizeBytes"),
        default="-conversationAt",
    )

    @validates_schema
    def _check_durations(self, data: dict[str, Any], **_: Any) -> None:
        low, high = data.get("min_duration"), data.get("max_duration")
        if low is not None and high is not None and low > high:
            raise reject(
                "maxDuration", "maxDuration must not be less than minDuration.", code=RANGE
            )


class AudioFileSchema(AnswerSchema):
    id = fields.String(metadata={"example": "aud_01k9zq4d0sfy2r8m6jx1vwq3bt"})
    engagement_id = fields.String(allow_none=True)
    campaign_id = fields.String(allow_none=True)
    call_center_id = fields.String(allow_none=True)
    executive_id = fields.String(allow_none=True)
    external_id = fields.String(allow_none=True)
    file_name = fields.String()
    content_type = fields.String()
    size_bytes = fields.Integer()
    sha256 = fields.String(allow_none=True)
    duration_seconds = fields.Integer(allow_none=True)
    sample_rate_hz = fields.Integer(allow_none=True)
    channels = fields.Integer(allow_none=True)
    codec = fields.String(allow_none=True)
    channel_map = fields.Dict(keys=fields.String(), values=fields.Integer(), allow_none=True)
    direction = Choice(DIRECTIONS)
    language = fields.String(allow_none=True)
    detected_language = fields.String(allow_none=True)
    status = Choice(list(AudioStatus))
    has_transcript = fields.Boolean()
    evaluation_id = fields.String(allow_none=True)
    score = fields.Integer(allow_none=True)
    recorded_at = Timestamp(allow_none=True)
    uploaded_at = Timestamp(allow_none=True)
    original_deleted_at = Timestamp(
        allow_none=True, **about("Since then only the muted copy is kept.")
    )
    processed_at = Timestamp(allow_none=True)
    conversation_at = Timestamp()
    created_at = Timestamp()
    updated_at = Timestamp()
    expires_at = Timestamp(allow_none=True)
    labels = fields.Dict(keys=fields.String(), values=fields.String())
    error = Nested(AudioFailureSchema, allow_none=True)


class WaveformSchema(AnswerSchema):
    """The waveform of a recording, for drawing."""

    audio_file_id = fields.String()
    status = Choice(
        ("ready", "drawing"),
        **about("drawing: the waveform is being computed; repeat the request in a few seconds."),
    )
    peaks_per_second = fields.Integer(
        allow_none=True, **about("Peaks of each channel in one second; null while drawing.")
    )
    channels = fields.List(
        fields.List(fields.Integer()),
        **about("The largest amplitudes of each channel, 0 to 255 (full scale)."),
    )
