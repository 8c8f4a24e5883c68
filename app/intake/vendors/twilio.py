"""Twilio: recordings of calls, as www.twilio.com/docs/voice/api/recording describes their callback."""

import base64
import re
from typing import Any
from urllib.parse import parse_qsl

from app.imports.formats.table_rows import with_offset
from app.imports.recordings import DIRECTIONS
from app.intake.signatures import Arrived, Hmac
from app.intake.vendor import Config, Document, Fetch, Setting, Sound, Vendor

_API = "https://api.twilio.com/2010-04-01/Accounts"


def _signed(arrived: Arrived, _: str) -> bytes:
    """Return the address and the sorted fields of the form, each name followed by its value."""
    fields = sorted(set(parse_qsl(arrived.body.decode(errors="replace"), keep_blank_values=True)))
    return (arrived.url + "".join(name + value for name, value in fields)).encode()


def _concerns(document: Document) -> bool:
    is_complete = document.get("RecordingStatus") == "completed"
    sids = document.get("RecordingSid", ""), document.get("CallSid", "")
    return is_complete and all(re.fullmatch("(?:RE|CA)[0-9a-f]{32}", sid) for sid in sids)


def _collect(document: Document, config: Config, fetch: Fetch) -> Sound:
    account, sid = config["accountSid"], document["RecordingSid"]
    token = base64.b64encode(f"{account}:{config['secret']}".encode()).decode()
    headers = {"Authorization": f"Basic {token}"}
    call: dict[str, Any] = fetch.json(f"{_API}/{account}/Calls/{document['CallSid']}.json", headers)
    direction = str(call.get("direction")).casefold()
    channels = "?RequestedChannels=2" if document.get("RecordingChannels") == "2" else ""
    path = fetch.sound(f"{_API}/{account}/Recordings/{sid}.wav{channels}", headers, f"{sid}.wav")
    fields: dict[str, Any] = {"externalId": sid, "direction": DIRECTIONS.get(direction, "unknown")}
    if started_at := document.get("RecordingStartTime") or call.get("start_time"):
        fields["recordedAt"] = with_offset(started_at, "UTC")
    if channels and config.get("agentChannel"):
        agent = int(config["agentChannel"])
        fields["channelMap"] = {"agent": agent, "customer": 1 - agent}
    return Sound(path, fields)


VENDOR = Vendor(
    name="twilio",
    title="Twilio",
    steps=(
        "Record calls with recordingStatusCallback set to the address below, and with two channels "
        "(record-from-answer-dual) where both sides are to be told apart.",
        "Give the SID and the auth token of the account: the token signs, and reads the recordings.",
    ),
    scheme=Hmac("x-twilio-signature", signed=_signed, algorithm="sha1", in_base64=True),
    settings=(
        Setting("accountSid", "Account SID", pattern=r"AC[0-9a-f]{32}"),
        Setting("secret", "Auth token", is_secret=True),
        Setting(
            "agentChannel",
            "Channel of the agent",
            hint="0 or 1, for recordings with two channels; empty if it is not always the same.",
            is_optional=True,
            pattern="[01]",
        ),
    ),
    concerns=_concerns,
    collect=_collect,
    hosts=lambda _: ("twilio.com", "twiliocdn.com"),
    is_form=True,
)
