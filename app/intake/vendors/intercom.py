"""Intercom: closed conversations with their parts, as developers.intercom.com describes them."""

from datetime import datetime
from typing import Any

from app.imports.formats.records import Fault, NativeRecord, Unreadable
from app.imports.formats.tables import conversation_of_objects
from app.intake.signatures import Hmac, moment_at
from app.intake.vendor import Config, Document, Fetch, Setting, Vendor, objects_at, value_at

_HOSTS = {"us": "api.intercom.io", "eu": "api.eu.intercom.io", "au": "api.au.intercom.io"}


def _concerns(document: Document) -> bool:
    is_closed = document.get("topic") == "conversation.admin.closed"
    return is_closed and bool(value_at(document, "data.item.id"))


def _collect(document: Document, config: Config, fetch: Fetch) -> NativeRecord:
    conversation_id = str(document["data"]["item"]["id"])
    if not conversation_id.isalnum():
        raise ValueError(conversation_id)
    headers = {"Authorization": f"Bearer {config['token']}", "Intercom-Version": "2.11"}
    host = _HOSTS[config.get("region", "us")]
    conversation = fetch.json(f"https://{host}/conversations/{conversation_id}", headers)
    parts = objects_at(conversation, "conversation_parts.conversation_parts")
    count = value_at(conversation, "conversation_parts.total_count")
    if isinstance(count, int) and count > len(parts):
        message = (
            f"The conversation has {count} parts, of which Intercom hands out {len(parts)}: without "
            "the others it would be judged wrongly. Import it from an export."
        )
        raise Unreadable(Fault.TOO_LONG, message)
    first = {**conversation["source"], "created_at": conversation["created_at"]}
    messages = [_message_of(part, conversation_id) for part in [first, *parts] if part.get("body")]
    return conversation_of_objects(messages, "intercom")


def _message_of(part: Document, conversation_id: str) -> dict[str, Any]:
    kept = ("author", "body", "created_at")
    return {
        **{name: part.get(name) for name in kept},
        "conversation_id": conversation_id,
        "part_type": part.get("part_type", "comment"),
    }


def _sent_at(document: Document) -> datetime | None:
    stamp = document.get("first_sent_at") or document.get("created_at")
    return moment_at(str(stamp), unit=1.0)


VENDOR = Vendor(
    name="intercom",
    title="Intercom",
    steps=(
        "In Intercom's developer hub, subscribe an app to the topic conversation.admin.closed, with "
        "the address below.",
        "Give the client secret of the app, which signs, and its access token, which reads.",
    ),
    scheme=Hmac("x-hub-signature", r"sha1=(?P<digest>[0-9a-f]{40})", algorithm="sha1"),
    settings=(
        Setting("secret", "Client secret", is_secret=True),
        Setting("token", "Access token", is_secret=True),
        Setting(
            "region",
            "Region",
            hint="us, eu or au; us if empty.",
            is_optional=True,
            pattern="us|eu|au",
        ),
    ),
    concerns=_concerns,
    collect=_collect,
    hosts=lambda _: tuple(_HOSTS.values()),
    sent_at=_sent_at,
)
