"""Zammad: closed tickets with their articles, as docs.zammad.org describes webhooks and articles."""

from email.utils import parseaddr
from typing import Any

from app.imports.formats.records import NativeRecord
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
    value_at,
)


def _concerns(document: Document) -> bool:
    state = value_at(document, "ticket.state.name") or value_at(document, "ticket.state")
    is_closed = str(state or "").casefold() == "closed"
    return is_closed and isinstance(value_at(document, "ticket.id"), int)


def _collect(document: Document, config: Config, fetch: Fetch) -> NativeRecord:
    url = f"{config['url']}/api/v1/ticket_articles/by_ticket/{document['ticket']['id']}"
    articles = fetch.json(url, {"Authorization": f"Token token={config['token']}"})
    title = str(document["ticket"].get("title") or "")
    return conversation_of_objects(
        [_message_of(article, title) for article in articles if article.get("body")], "zammad"
    )


def _message_of(article: Document, title: str) -> dict[str, Any]:
    author = str(article.get("from") or "")
    article = {**article, "from": parseaddr(author)[0] or author, "ticket_title": title}
    if article.get("content_type") == "text/html":
        return article
    return {
        **{name: value for name, value in article.items() if name != "body"},
        "text": article["body"],
    }


VENDOR = Vendor(
    name="zammad",
    title="Zammad",
    steps=(
        "In Zammad, add a webhook with the address below and a signature token, and a trigger that "
        "calls it when the state of a ticket becomes closed.",
        "Give the signature token, and an access token that may read the tickets.",
    ),
    scheme=Hmac("x-hub-signature", r"sha1=(?P<digest>[0-9a-f]{40})", algorithm="sha1"),
    settings=(
        Setting("secret", "Signature token", is_secret=True),
        OWN_ADDRESS,
        Setting("token", "Access token", is_secret=True),
    ),
    concerns=_concerns,
    collect=_collect,
    hosts=host_of,
)
