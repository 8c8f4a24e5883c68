"""Retell AI: ended calls of voice agents, as docs.retellai.com/features/webhook describes them."""

from collections.abc import Iterator, Mapping

from app.imports.formats.records import TimedTurn
from app.intake.signatures import Hmac
from app.intake.vendor import (
    Convert,
    Document,
    Setting,
    Vendor,
    call_of,
    milliseconds,
    moment_of,
    objects_at,
    sound_at,
    spoken,
)

_CALL = {
    "externalId": ("call_id",),
    "startedAt": ("start_timestamp",),
    "endedAt": ("end_timestamp",),
    "durationSeconds": ("duration_ms",),
    "endReason": ("disconnection_reason",),
    "botId": ("agent_id",),
    "botName": ("agent_name",),
    "direction": ("direction",),
    "fromNumber": ("from_number",),
    "toNumber": ("to_number",),
}
_CONVERT: Mapping[str, Convert] = {
    "startedAt": moment_of,
    "endedAt": moment_of,
    "durationSeconds": lambda number: round(number / 1000),
}
_ROLES = {"agent": "bot", "user": "customer", "transfer_target": "agent"}


def _turns(call: Document) -> Iterator[TimedTurn]:
    for role, text, said in spoken(call, ("transcript_object",), "content", _ROLES):
        words = objects_at(said, "words") or [{}]
        start_ms, end_ms = milliseconds(words[0].get("start")), milliseconds(words[-1].get("end"))
        yield TimedTurn(role, text, start_ms, end_ms)


VENDOR = Vendor(
    name="retell",
    title="Retell AI",
    steps=(
        "In Retell AI, set the address below as the webhook of the agent or of the account.",
        "Give the API key that has the badge of webhooks: it signs them.",
    ),
    scheme=Hmac(
        "x-retell-signature",
        r"v=(?P<time>\d{1,16}),d=(?P<digest>[0-9a-f]{64})",
        signed=lambda arrived, time: arrived.body + time.encode(),
        is_time_signed=True,
        time_unit=0.001,
    ),
    settings=(Setting("secret", "API key", is_secret=True),),
    concerns=lambda sent: sent.get("event") == "call_ended" and isinstance(sent.get("call"), dict),
    collect=lambda sent, _, __: call_of(sent["call"], _CALL, _CONVERT, _turns),
    sound=lambda sent, _: sound_at(sent["call"], "recording_multi_channel_url", "recording_url"),
    # Where its documentation and its calls have them.
    hosts=lambda _: ("retellai.s3.us-west-2.amazonaws.com", "dxc03zgurdly9.cloudfront.net"),
)
