"""Vapi: reports of voice agents' calls, as docs.vapi.ai/server-url/events describes them."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from app.imports.formats.records import TimedTurn
from app.intake.signatures import Hmac, OneOf, SharedSecret, moment_at
from app.intake.vendor import (
    Convert,
    Document,
    Setting,
    Vendor,
    call_of,
    milliseconds,
    sound_at,
    spoken,
    value_at,
)

_CALL = {
    "externalId": ("call.id",),
    "startedAt": ("startedAt", "call.startedAt"),
    "endedAt": ("endedAt", "call.endedAt"),
    "durationSeconds": ("durationSeconds",),
    "endReason": ("endedReason",),
    "botId": ("assistant.id", "call.assistantId"),
    "botName": ("assistant.name",),
    "direction": ("call.type",),
    "fromNumber": ("customer.number", "call.customer.number"),
}
_CONVERT: Mapping[str, Convert] = {
    "durationSeconds": round,
    "direction": {"inboundPhoneCall": "inbound", "outboundPhoneCall": "outbound"}.get,
}
_SOUND = (
    "artifact.stereoRecordingUrl",
    "artifact.recording.stereoUrl",
    "stereoRecordingUrl",
    "artifact.recordingUrl",
    "recordingUrl",
)
_ROLES = {"bot": "bot", "assistant": "bot", "user": "customer"}


def _turns(message: Document) -> Iterator[TimedTurn]:
    for role, text, said in spoken(message, ("artifact.messages", "messages"), "message", _ROLES):
        start_ms = milliseconds(said.get("secondsFromStart"))
        lasted_ms = said.get("duration")
        end_ms = None
        if start_ms is not None and isinstance(lasted_ms, int | float) and lasted_ms >= 0:
            end_ms = start_ms + round(lasted_ms)
        yield TimedTurn(role, text, start_ms, end_ms)


def _sent_at(document: Document) -> datetime | None:
    stamp = value_at(document, "message.timestamp")
    return moment_at(str(stamp).partition(".")[0], unit=0.001)


VENDOR = Vendor(
    name="vapi",
    title="Vapi",
    steps=(
        "In Vapi, add a custom credential of the kind HMAC with SHA256, the header x-vapi-signature "
        "and the body alone as its payload, or of the kind Bearer Token, and give its secret below.",
        "Set the address below as the server URL of the assistant, with the server message "
        "end-of-call-report.",
    ),
    scheme=OneOf(
        (
            Hmac("x-vapi-signature", r"(?:sha256=)?(?P<digest>[0-9a-f]{64})"),
            SharedSecret("x-vapi-secret"),
            SharedSecret("authorization", "Bearer "),
        )
    ),
    settings=(Setting("secret", "Secret", is_secret=True),),
    concerns=lambda sent: bool(value_at(sent, "message.type") == "end-of-call-report"),
    collect=lambda sent, _, __: call_of(sent["message"], _CALL, _CONVERT, _turns),
    sound=lambda sent, _: sound_at(sent["message"], *_SOUND),
    hosts=lambda _: ("vapi.ai",),
    sent_at=_sent_at,
)
