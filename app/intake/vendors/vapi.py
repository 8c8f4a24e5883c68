"""Vapi: reports of voice agents' calls, as docs.vapi.ai/server-url/events describes them."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from app.imports.formats.records import NativeRecord, TimedTurn
from app.intake.signatures import Hmac, OneOf, SharedSecret, moment_at
from app.intake.vendor import (
    Config,
    Convert,
    Document,
    Fetch,
    Setting,
    Vendor,
    call_of,
    milliseconds,
    objects_at,
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
_ROLES = {"bot": "bot", "assistant": "bot", "user": "customer"}


def _concerns(document: Document) -> bool:
    return bool(value_at(document, "message.type") == "end-of-call-report")


def _collect(document: Document, _: Config, __: Fetch) -> NativeRecord:
    message = document["message"]
    return call_of(message, _CALL, _CONVERT, _turns(message))


def _turns(message: Document) -> Iterator[TimedTurn]:
    for said in objects_at(message, "artifact.messages", "messages"):
        role, text = _ROLES.get(str(said.get("role"))), said.get("message")
        if role and isinstance(text, str) and text.strip():
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
        "and the body alone as its payload, and give its secret below; or a secret of the server URL.",
        "Set the address below as the server URL of the assistant, with the server message "
        "end-of-call-report.",
    ),
    scheme=OneOf(
        (
            Hmac("x-vapi-signature", r"(?:sha256=)?(?P<digest>[0-9a-f]{64})"),
            SharedSecret("x-vapi-secret"),
        )
    ),
    settings=(Setting("secret", "Secret", is_secret=True),),
    concerns=_concerns,
    collect=_collect,
    sent_at=_sent_at,
)
