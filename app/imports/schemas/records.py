"""Schemas of imported records, and the validation of records by them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from marshmallow import ValidationError, fields, post_load, validate, validates_schema

from app.audio_files.schemas import UploadCreate
from app.campaigns.enums import CHANNELS, CampaignStatus, CampaignType
from app.conversations.enums import PLATFORMS, ConversationStatus
from app.conversations.enums import ROLES as MESSAGE_ROLES
from app.conversations.preparation import prepare_conversation
from app.core.errors import InvalidInput
from app.directory.enums import ExecutiveKind
from app.evaluations.enums import DIRECTIONS
from app.imports.formats.records import MAX_MESSAGES, Kind
from app.imports.loading.normalise import ValidRecord
from app.imports.loading.references import NAMED_REFERENCES, normalised_external_id
from app.imports.schemas.base import (
    ContactUpsert,
    NamedUpsert,
    PlainValues,
    ReferencesByName,
    SpokenText,
    pop_names,
    reference_name,
    require_distinct,
    require_order,
)
from app.redaction.redactor import Redactor
from app.voice_calls.enums import ENDED_BY, OUTCOMES, CallStatus
from app.voice_calls.enums import ROLES as TURN_ROLES
from app.voice_calls.service import prepare_voice_call
from app.web.schemas.base import FORMAT, REQUIRED, TYPE, CamelSchema, CodedMessage, load_valid
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    LanguageTag,
    Nested,
    Number,
    PastMoment,
    Pattern,
    Reference,
    Text,
    Timestamp,
    Whole,
)

_MAX_TAGS = 50
_MAX_ATTACHMENTS = 20
_MAX_CALL_CENTERS = 100
_MAX_S = 7 * 86_400
_MAX_MS = 1000 * _MAX_S
_PHONE_NUMBER = r"[0-9A-Za-z+#*()@.:;=_ -]{1,64}"


class AttachmentUpsert(CamelSchema):
    """A file that was sent with a message; its content is not stored."""

    file_name = Text(255, low=1, required=True)
    content_type = Text(100, allow_none=True, load_default=None)
    size_bytes = Whole(allow_none=True, load_default=None)
    url = Text(2048, allow_none=True, load_default=None)


class MessageUpsert(CamelSchema):
    """A message of another system."""

    role = Choice(MESSAGE_ROLES, required=True)
    text = SpokenText(20_000, required=True)
    sent_at = PastMoment(allow_none=True, load_default=None)
    author_name = Text(200, allow_none=True, load_default=None)
    executive_id = Reference("exec", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    internal = Flag(load_default=False)
    attachments = Items(Nested(AttachmentUpsert), high=_MAX_ATTACHMENTS, load_default=list)
    details = PlainValues(data_key="metadata", load_default=dict)


class SatisfactionUpsert(CamelSchema):
    """The customer's rating of the service."""

    score = Number(low=1, high=5, allow_none=True, load_default=None)
    comment = Text(4000, multiline=True, allow_none=True, load_default=None)


class ConversationUpsert(ContactUpsert):
    """A conversation of another system."""

    messages = Items(Nested(MessageUpsert), low=1, high=MAX_MESSAGES, required=True)
    platform = Choice(PLATFORMS, load_default="other")
    status = Choice(list(ConversationStatus), load_default=ConversationStatus.CLOSED.value)
    subject = Text(500, allow_none=True, load_default=None)
    customer_ref = Text(200, allow_none=True, load_default=None)
    csat = Nested(SatisfactionUpsert, allow_none=True, load_default=None)
    disposition = Text(200, allow_none=True, load_default=None)
    tags = Items(Text(64, low=1), high=_MAX_TAGS, load_default=list)

    @validates_schema
    def _check_tags(self, data: dict[str, Any], **_: Any) -> None:
        require_distinct(data, "tags")


class TurnUpsert(CamelSchema):
    """A turn of the call; times are milliseconds from its start."""

    role = Choice(TURN_ROLES, required=True)
    text = SpokenText(20_000, required=True)
    start_ms = Whole(high=_MAX_MS, allow_none=True, load_default=None)
    end_ms = Whole(high=_MAX_MS, allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "start_ms", "end_ms")


class RecordingUpsert(CamelSchema):
    """The recording of a call, already uploaded."""

    audio_file_id = Reference("aud", required=True)


class LatencyUpsert(CamelSchema):
    """Percentiles of the bot's response times in milliseconds."""

    p50 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    p90 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    p95 = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    max = Number(low=0, high=_MAX_MS, allow_none=True, load_default=None)
    count = Whole(allow_none=True, load_default=None)


_PERCENTILES = LatencyUpsert()
_SAMPLES = Items(Number(low=0, high=_MAX_MS), high=MAX_MESSAGES)


class Latency(fields.Raw):
    """Percentiles, or a list of measured values."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            return _PERCENTILES.load(value)
        if isinstance(value, list):
            return _SAMPLES.deserialize(value)
        message = "This must be an object of percentiles or a list of numbers."
        raise ValidationError(CodedMessage(TYPE, message))


class VoiceCallUpsert(ContactUpsert):
    """A voice call of another system."""

    status = Choice(list(CallStatus), required=True)
    answered_at = PastMoment(allow_none=True, load_default=None)
    duration_seconds = Whole(high=_MAX_S, allow_none=True, load_default=None)
    direction = Choice(DIRECTIONS, load_default="unknown")
    from_number = Pattern(
        _PHONE_NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
    )
    to_number = Pattern(
        _PHONE_NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
    )
    bot_id = Text(200, low=1, allow_none=True, load_default=None)
    bot_name = Text(200, low=1, allow_none=True, load_default=None)
    bot_version = Text(64, allow_none=True, load_default=None)
    end_reason = Text(200, allow_none=True, load_default=None)
    ended_by = Choice(ENDED_BY, allow_none=True, load_default=None)
    outcome = Choice(OUTCOMES, load_default="unknown")
    transferred_to_human = Flag(load_default=False)
    latency_ms = Latency(
        allow_none=True,
        load_default=None,
        metadata={
            "description": "Percentiles `{p50, p90, p95, max, count}`, or a list of measured values."
        },
    )
    fallback_count = Whole(allow_none=True, load_default=None)
    collected_fields = PlainValues(load_default=dict)
    turns = Items(Nested(TurnUpsert), high=MAX_MESSAGES, load_default=list)
    recording = Nested(RecordingUpsert, allow_none=True, load_default=None)

    @validates_schema
    def _check_answer(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "answered_at")
        require_order(data, "answered_at", "ended_at")

    @post_load
    def _flatten_recording(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Replace the recording by its id, as in the table."""
        recording = data.pop("recording")
        recording_id = recording["audio_file_id"] if recording else None
        return {**data, "recording_id": recording_id}


class CampaignTargetsUpsert(CamelSchema):
    """Targets of a campaign."""

    score = Whole(high=100, allow_none=True, load_default=None)
    evaluations = Whole(allow_none=True, load_default=None)
    pass_rate = Number(low=0, high=1, allow_none=True, load_default=None)


class CampaignUpsert(NamedUpsert):
    """A campaign of another system."""

    description = Text(4000, multiline=True, allow_none=True, load_default=None)
    type = Choice(list(CampaignType), load_default=CampaignType.OTHER.value)
    channels = Items(Choice(CHANNELS), high=len(CHANNELS), load_default=list)
    status = Choice(list(CampaignStatus), load_default=CampaignStatus.ACTIVE.value)
    engagement_id = Reference("eng", allow_none=True, load_default=None)
    call_center_ids = Items(Reference("cc"), high=_MAX_CALL_CENTERS, load_default=list)
    scorecard_id = Reference("sc", allow_none=True, load_default=None)
    language = LanguageTag(allow_none=True, load_default=None)
    starts_at = Timestamp(allow_none=True, load_default=None)
    ends_at = Timestamp(allow_none=True, load_default=None)
    targets = Nested(CampaignTargetsUpsert, load_default=lambda: CampaignTargetsUpsert().load({}))

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "starts_at", "ends_at")

    @validates_schema
    def _check_lists(self, data: dict[str, Any], **_: Any) -> None:
        require_distinct(data, "channels")
        require_distinct(data, "call_center_ids")


class CallCenterUpsert(NamedUpsert):
    """A call centre of another system."""


class ExecutiveUpsert(NamedUpsert):
    """An executive of another system."""

    kind = Choice(list(ExecutiveKind), load_default="human")
    call_center_id = Reference("cc", allow_none=True, load_default=None)
    email = Text(
        254,
        allow_none=True,
        load_default=None,
        validate=validate.Regexp(
            r"[^@\s]+@[^@\s]+\Z", error=CodedMessage(FORMAT, "This must be an e-mail address.")
        ),
    )


class _CampaignRecord(CampaignUpsert, ReferencesByName):
    """A campaign that may name its engagement."""

    engagement = reference_name()


class _ExecutiveRecord(ExecutiveUpsert, ReferencesByName):
    """An executive that may name the call centre."""

    call_center = reference_name()


class _RecordingUpload(UploadCreate, ReferencesByName):
    """A recording whose references may be given by name."""

    engagement = reference_name()
    campaign = reference_name()
    call_center = reference_name()
    executive = reference_name()


SCHEMAS: Mapping[str, CamelSchema] = MappingProxyType(
    {
        Kind.VOICE_CALL: VoiceCallUpsert(),
        Kind.CONVERSATION: ConversationUpsert(),
        Kind.CAMPAIGN: _CampaignRecord(),
        Kind.CALL_CENTER: CallCenterUpsert(),
        Kind.EXECUTIVE: _ExecutiveRecord(),
    }
)
_RECORDING = _RecordingUpload()
_PREPARATIONS: Mapping[str, Callable[[dict[str, Any], Redactor], dict[str, Any]]] = (
    MappingProxyType({Kind.VOICE_CALL: prepare_voice_call, Kind.CONVERSATION: prepare_conversation})
)


def validate_record(redactor: Redactor, kind: str, fields: Mapping[str, Any]) -> ValidRecord:
    """Validate a record in the native form, and mask the texts of a conversation or a call."""
    # A null name means no name.
    without_null_names = {
        name: value
        for name, value in fields.items()
        if value is not None or name not in NAMED_REFERENCES
    }
    values = load_valid(SCHEMAS[kind], without_null_names, location="json")
    names = pop_names(values)
    external_id = values.pop("external_id", None)
    if external_id is None:
        raise InvalidInput.field("externalId", "externalId is required.", code=REQUIRED)
    if kind in _PREPARATIONS:
        values = _PREPARATIONS[kind](values, redactor)
    return ValidRecord(normalised_external_id(external_id), values, names)


def validate_recording(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns of a recording, and the names that are given in place of ids."""
    values = load_valid(_RECORDING, fields, location="json")
    return values, pop_names(values)
