"""Zendesk: solved tickets with their comments, as developer.zendesk.com describes webhooks and comments."""

import base64
from typing import Any

from app.imports.formats.records import TOO_MANY_MESSAGES, Fault, NativeRecord, Unreadable
from app.imports.formats.tables import conversation_of_objects
from app.intake.signatures import Hmac
from app.intake.vendor import Config, Document, Fetch, Setting, Vendor, objects_at, value_at

_ENDED = frozenset({"solved", "closed"})
_MOST_PAGES = 100


def _concerns(document: Document) -> bool:
    state = value_at(document, "detail.status") or document.get("status") or ""
    return _ticket_of(document) is not None and str(state).casefold() in _ENDED


def _ticket_of(document: Document) -> str | None:
    """Return the id of the ticket, in an event of Zendesk's or in the body of a trigger."""
    given = value_at(document, "detail.id") or document.get("ticket_id")
    return str(given) if str(given or "").isdecimal() else None


def _collect(document: Document, config: Config, fetch: Fetch) -> NativeRecord:
    ticket_id = _ticket_of(document)
    token = base64.b64encode(f"{config['email']}/token:{config['token']}".encode()).decode()
    url = (
        f"https://{config['subdomain']}.zendesk.com/api/v2/tickets/{ticket_id}/comments.json"
        "?include=users&page[size]=100"
    )
    comments: list[dict[str, Any]] = []
    for _ in range(_MOST_PAGES):
        page = fetch.json(url, {"Authorization": f"Basic {token}"})
        people = {person.get("id"): person for person in objects_at(page, "users")}
        comments += [
            _message_of(comment, people.get(comment.get("author_id"), {}), ticket_id)
            for comment in objects_at(page, "comments")
            if comment.get("html_body") or comment.get("plain_body")
        ]
        if not value_at(page, "meta.has_more"):
            break
        url = page["links"]["next"]
    else:
        raise Unreadable(Fault.TOO_LONG, TOO_MANY_MESSAGES)
    return conversation_of_objects(comments, "zendesk")


def _message_of(comment: Document, author: Document, ticket_id: str | None) -> dict[str, Any]:
    # The HTML says what is quoted.
    left_out = "plain_body" if comment.get("html_body") else "html_body"
    return {
        **{name: value for name, value in comment.items() if name != left_out},
        "ticket_id": ticket_id,
        "author_role": author.get("role"),
        "author_name": author.get("name"),
    }


VENDOR = Vendor(
    name="zendesk",
    title="Zendesk",
    steps=(
        "In Zendesk, create a webhook with the address below for the event Ticket status changed, or "
        'a trigger that sends {"ticket_id": "{{ticket.id}}", "status": "solved"} to it.',
        "Give the signing secret of this webhook, and an API token that may read tickets.",
    ),
    scheme=Hmac(
        "x-zendesk-webhook-signature",
        signed=lambda arrived, time: time.encode() + arrived.body,
        in_base64=True,
        is_time_signed=True,
        time_header="x-zendesk-webhook-signature-timestamp",
    ),
    settings=(
        Setting("secret", "Signing secret", is_secret=True),
        Setting(
            "subdomain",
            "Subdomain",
            hint="The part before .zendesk.com.",
            pattern="[a-z0-9][a-z0-9-]{0,62}",
        ),
        Setting("email", "E-mail address of the API token", pattern=r"[^\s:]{1,200}@[^\s:]{1,200}"),
        Setting("token", "API token", is_secret=True),
    ),
    concerns=_concerns,
    collect=_collect,
    hosts=lambda config: [f"{config['subdomain']}.zendesk.com"],
)
