"""Schema of an imported voice call."""

from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.evaluations.enums import DIRECTIONS
from app.imports.formats.records import MAX_MESSAGES
from app.imports.schemas.base import require_order
from app.imports.schemas.contacts import ContactUpsert
from app.imports.schemas.fields import PastMoment, PlainValues, SpokenText
from app.voice_calls.enums import ENDED_BY, OUTCOMES, ROLES, CallStatus
from app.web.schemas.base import TYPE, CamelSchema, CodedMessage
from app.web.schemas.fields import (
    Choice,
    Flag,
    Items,
    Nested,
    Number,
    Pattern,
    Reference,
    Text,
    Whole,
)

_MAX_S = 7 * 86_400
_MAX_MS = 1000 * _MAX_S
_PHONE_NUMBER = r"[0-9A-Za-z+#*()@.:;=_ -]{1,64}"


class TurnUpsert(CamelSchema):
    """A turn of the call; times are milliseconds from its start."""

    role = Choice(ROLES, required=True)
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
