"""Chatwoot: resolved conversations with their messages, as developers.chatwoot.com describes them."""

from typing import Any

from app.imports.formats.records import TOO_MANY_MESSAGES, Fault, NativeRecord, Unreadable
from app.imports.formats.tables import conversation_of_objects
from app.intake.signatures import Hmac
from app.intake.vendor import (
    OWN_ADDRESS,
    Config,
    Document,
    Fetch,
    Setting,
    Vendor,
    host_of,
    objects_at,
    value_at,
)

_MOST_PAGES = 500
_ACTIVITY = (2, "activity")


def _concerns(document: Document) -> bool:
    event, status = document.get("event"), document.get("status")
    is_end = event == "conversation_status_changed" and status == "resolved"
    return is_end and isinstance(document.get("id"), int)


def _collect(document: Document, config: Config, fetch: Fetch) -> NativeRecord:
    conversation_id = document["id"]
    account_id = int(value_at(document, "account.id") or document["account_id"])
    url = f"{config['url']}/api/v1/accounts/{account_id}/conversations/{conversation_id}/messages"
    headers = {"api_access_token": config["token"]}
    messages: list[dict[str, Any]] = []
    before = ""
    for _ in range(_MOST_PAGES):
        page = objects_at(fetch.json(url + before, headers), "payload")
        if not page:
            break
        oldest = min(message["id"] for message in page)
        messages = [_message_of(message, conversation_id) for message in page] + messages
        before = f"?before={oldest}"
    else:
        raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES)
    said = [
        message
        for message in sorted(messages, key=lambda message: int(message["id"]))
        if message.get("content") and message.get("message_type") not in _ACTIVITY
    ]
    return conversation_of_objects(said, "chatwoot")


def _message_of(message: Document, conversation_id: int) -> dict[str, Any]:
    is_bot = value_at(message, "sender.type") == "agent_bot"
    by_bot = {"message_type": "template"} if is_bot else {}
    return {**message, "conversation_id": conversation_id, **by_bot}


VENDOR = Vendor(
    name="chatwoot",
    title="Chatwoot",
    steps=(
        "In Chatwoot, add a webhook with the address below for the event Conversation status changed.",
        "Give the secret of this webhook, and the access token of an agent who may read the "
        "conversations.",
    ),
    scheme=Hmac(
        "x-chatwoot-signature",
        r"sha256=(?P<digest>[0-9a-f]{64})",
        signed=lambda arrived, time: time.encode() + b"." + arrived.body,
        is_time_signed=True,
        time_header="x-chatwoot-timestamp",
    ),
    settings=(
        Setting("secret", "Secret", is_secret=True),
        OWN_ADDRESS,
        Setting("token", "Access token", is_secret=True),
    ),
    concerns=_concerns,
    collect=_collect,
    hosts=host_of,
)
