"""ElevenLabs: post-call transcriptions of voice agents, as elevenlabs.io/docs describes them."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from urllib.parse import quote

from app.imports.formats.records import TimedTurn
from app.intake.signatures import Hmac
from app.intake.vendor import (
    Config,
    Convert,
    Document,
    Setting,
    SoundPlace,
    Vendor,
    call_of,
    milliseconds,
    moment_of,
    spoken,
)

_CALL = {
    "externalId": ("conversation_id",),
    "startedAt": ("metadata.start_time_unix_secs",),
    "durationSeconds": ("metadata.call_duration_secs",),
    "endReason": ("metadata.termination_reason",),
    "botId": ("agent_id",),
    "botName": ("agent_name",),
    "direction": ("metadata.phone_call.direction",),
    "fromNumber": ("metadata.phone_call.external_number",),
    "language": ("metadata.main_language",),
}
_CONVERT: Mapping[str, Convert] = {"startedAt": moment_of, "durationSeconds": round}
_HOSTS = {
    "us": "api.elevenlabs.io",
    "eu": "api.eu.residency.elevenlabs.io",
    "in": "api.in.residency.elevenlabs.io",
}
_ROLES = {"agent": "bot", "user": "customer"}


def _turns(data: Document) -> Iterator[TimedTurn]:
    for role, text, said in spoken(data, ("transcript",), "message", _ROLES):
        yield TimedTurn(role, text, milliseconds(said.get("time_in_call_secs")))


def _sound(document: Document, config: Config) -> SoundPlace | None:
    data = document["data"]
    if not config.get("key") or data.get("has_audio") is False:
        return None
    conversation_id = quote(str(data["conversation_id"]), safe="")
    return SoundPlace(
        f"https://{_HOSTS[config.get('region', 'us')]}/v1/convai/conversations/{conversation_id}/audio",
        ".mp3",
        {"xi-api-key": config["key"]},
    )


VENDOR = Vendor(
    name="elevenlabs",
    title="ElevenLabs",
    steps=(
        "In the settings of Agents, add a post-call webhook of transcriptions with the address below.",
        "Give the secret that ElevenLabs shows for this webhook, and an API key that may read "
        "conversations if their sound is wanted.",
    ),
    scheme=Hmac(
        "elevenlabs-signature",
        r"t=(?P<time>\d{1,12}),v0=(?P<digest>[0-9a-f]{64})",
        signed=lambda arrived, time: time.encode() + b"." + arrived.body,
        is_time_signed=True,
        oldest=timedelta(minutes=30),
    ),
    settings=(
        Setting("secret", "Secret", is_secret=True),
        Setting("key", "API key", hint="For the sound.", is_secret=True, is_optional=True),
        Setting(
            "region",
            "Region",
            hint="us, eu or in; us if empty.",
            is_optional=True,
            pattern="us|eu|in",
        ),
    ),
    concerns=lambda sent: (
        sent.get("type") == "post_call_transcription" and isinstance(sent.get("data"), dict)
    ),
    collect=lambda sent, _, __: call_of(sent["data"], _CALL, _CONVERT, _turns),
    sound=_sound,
    hosts=lambda config: (_HOSTS[config.get("region", "us")],),
)
