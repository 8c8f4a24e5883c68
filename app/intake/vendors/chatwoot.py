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
_BOTS = ("agent_bot", "captain_assistant")


def _concerns(document: Document) -> bool:
    event, status = document.get("event"), document.get("status")
    is_end = event == "conversation_status_changed" and status == "resolved"
    return is_end and all(isinstance(number, int) for number in _ids_of(document))


def _ids_of(document: Document) -> tuple[Any, Any]:
    """Return the ids of the account and of the conversation, which its last message has as well.

    The conversation's own `id` is its number in the account, or in the database in some versions.
    """
    last = next(iter(objects_at(document, "messages")), {})
    return (
        last.get("account_id") or document.get("account_id") or value_at(document, "account.id"),
        last.get("conversation_id") or document.get("id"),
    )


def _collect(document: Document, config: Config, fetch: Fetch) -> NativeRecord:
    account_id, conversation_id = _ids_of(document)
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
    is_bot = value_at(message, "sender.type") in _BOTS
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
