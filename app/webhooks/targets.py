"""Targets of messages: Slack, Teams and e-mail, as receivers of the same sender."""

from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from app.core.database.paging import Page, PageRequest
from app.core.secrets.encryption import Keyring
from app.webhooks import service, signing
from app.webhooks.enums import MESSAGE_KINDS, TargetKind
from app.webhooks.models import Subscription


def create(
    session: Session, keyring: Keyring, *, kind: str, address: str, description: str | None = None
) -> dict[str, Any]:
    """Create a target; the URL of a chat holds a token, so it is encrypted and never shown again.

    The caller has checked a URL with `service.check_url`.

    Raises:
        Conflict: there are too many targets.
    """
    is_mail = kind == TargetKind.EMAIL
    return service.insert(
        session,
        keyring,
        kind=kind,
        url=address if is_mail else f"https://{urlsplit(address).hostname}/…",
        events=(),
        description=description,
        secret=signing.new_secret() if is_mail else address,
    )


def list_page(session: Session, request: PageRequest) -> Page[Any]:
    return service.list_page(session, request, kinds=MESSAGE_KINDS)


def missing(session: Session, target_ids: list[str]) -> list[str]:
    """Return the ids of these that no message can be sent to."""
    return [
        target_id
        for target_id in target_ids
        if (row := session.get(Subscription, target_id)) is None
        or row.deleted_at is not None
        or row.kind not in MESSAGE_KINDS
    ]
