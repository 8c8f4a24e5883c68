"""The shape in which a voice call comes in."""

from typing import Any

from marshmallow import ValidationError, fields, post_load, validates_schema

from app.evaluations.enums import DIRECTIONS
from app.imports.contact_shapes import ContactUpsert, PastMoment, Speech, Values, require_order
from app.imports.formats.items import MOST_MESSAGES
from app.voice_calls.enums import ENDED_BY, OUTCOMES, ROLES, CallStatus
from app.web.schemas.base import CamelSchema, reject
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
from app.web.schemas.messages import RANGE, TYPE, Message

_LONGEST_S = 7 * 86_400
_LONGEST_MS = 1000 * _LONGEST_S
_NUMBER = r"[0-9A-Za-z+#*()@.:;=_ -]{1,64}"


class TurnUpsert(CamelSchema):
    """What somebody said; times in milliseconds from the start of the call."""

    role = Choice(ROLES, required=True)
    text = Speech(20_000, required=True)
    start_ms = Whole(high=_LONGEST_MS, allow_none=True, load_default=None)
    end_ms = Whole(high=_LONGEST_MS, allow_none=True, load_default=None)

    @validates_schema
    def _check_order(self, data: dict[str, Any], **_: Any) -> None:
        start, end = data["start_ms"], data["end_ms"]
        if start is not None and end is not None and end < start:
            raise reject("endMs", "endMs may not be before startMs.", code=RANGE)


class RecordingUpsert(CamelSchema):
    """The recording of a call, uploaded before."""

    audio_file_id = Reference("aud", required=True)


class LatencyUpsert(CamelSchema):
    """How long the caller waited for the bot, in milliseconds."""

    p50 = Number(low=0, high=_LONGEST_MS, allow_none=True, load_default=None)
    p90 = Number(low=0, high=_LONGEST_MS, allow_none=True, load_default=None)
    p95 = Number(low=0, high=_LONGEST_MS, allow_none=True, load_default=None)
    max = Number(low=0, high=_LONGEST_MS, allow_none=True, load_default=None)
    count = Whole(allow_none=True, load_default=None)


_PERCENTILES = LatencyUpsert()
_SAMPLES = Items(Number(low=0, high=_LONGEST_MS), high=MOST_MESSAGES)


class Latency(fields.Raw):
    """Percentiles, or a list of what was measured."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            return _PERCENTILES.load(value)
        if isinstance(value, list):
            return _SAMPLES.deserialize(value)
        message = "This must be an object of percentiles or a list of numbers."
        raise ValidationError(Message(TYPE, message))


class VoiceCallUpsert(ContactUpsert):
    """A voice call as another system knows it."""

    status = Choice(list(CallStatus), required=True)
    answered_at = PastMoment(allow_none=True, load_default=None)
    duration_seconds = Whole(high=_LONGEST_S, allow_none=True, load_default=None)
    direction = Choice(DIRECTIONS, load_default="unknown")
    from_number = Pattern(
        _NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
    )
    to_number = Pattern(
        _NUMBER, "This must be a telephone number.", allow_none=True, load_default=None
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
        metadata={"description": "Percentiles {p50, p90, p95, max, count}, or what was measured."},
    )
    fallback_count = Whole(allow_none=True, load_default=None)
    collected_fields = Values(load_default=dict)
    turns = Items(Nested(TurnUpsert), high=MOST_MESSAGES, load_default=list)
    recording = Nested(RecordingUpsert, allow_none=True, load_default=None)

    @validates_schema
    def _check_answer(self, data: dict[str, Any], **_: Any) -> None:
        require_order(data, "started_at", "answered_at")
        require_order(data, "answered_at", "ended_at")

    @post_load
    def _draft(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Name the recording by its id, as the columns do."""
        recording = data.pop("recording")
        recording_id = recording["audio_file_id"] if recording else None
        return {**data, "recording_id": recording_id}
