"""Subscriptions: create, list, change and delete them, rotate their secrets, and check their URLs."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import require_match
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.ids import new_id
from app.core.outgoing_http.addresses import (
    NOT_REACHABLE,
    AddressPolicy,
    NameNotResolved,
    UrlRefused,
)
from app.core.queue import Bell
from app.core.secrets.encryption import Keyring
from app.core.settings import Settings
from app.webhooks import signing
from app.webhooks.enums import DeliveryState, TargetKind
from app.webhooks.models import PENDING, Delivery, Subscription

MOST_SUBSCRIPTIONS = 50
SENDER_BELL = Bell("webhooks", once=True)
RESOLVE_WITHIN_S = 5.0

_SORTABLE = {"created_at": Subscription.created_at}
_NOT_DELETED = Subscription.deleted_at.is_(None)
_FIELDS = (
    *("id", "kind", "url", "events", "description", "active"),
    *("created_at", "updated_at", "failing_since", "deactivated_at"),
)
_COLUMNS = select(*(getattr(Subscription, name) for name in _FIELDS)).where(_NOT_DELETED)


def address_policy(settings: Settings) -> AddressPolicy:
    """Return the policy of this deployment; the same at create, change, test and delivery."""
    return AddressPolicy(settings.webhook_allowed_cidrs, settings.webhook_allow_http)


def check_url(settings: Settings, url: str, field: str = "url") -> None:
    """Refuse a URL that could not be delivered to; call it outside a transaction.

    Raises:
        InvalidInput: naming the field of the URL, and the setting that would allow it.
    """
    try:
        address_policy(settings).locate(url, timeout_s=RESOLVE_WITHIN_S)
    except UrlRefused as error:
        raise InvalidInput.field(field, str(error)) from error
    except (NameNotResolved, TimeoutError) as error:
        raise InvalidInput.field(field, NOT_REACHABLE) from error


def create(
    session: Session,
    keyring: Keyring,
    *,
    url: str,
    events: Sequence[str],
    description: str | None = None,
) -> dict[str, Any]:
    """Create an active subscription and return it with its secret, which is shown only once.

    The caller has checked the URL with `check_url`.

    Raises:
        Conflict: the limit of subscriptions is reached.
    """
    secret = signing.new_secret()
    record = insert(
        session,
        keyring,
        kind=TargetKind.WEBHOOK,
        url=url,
        events=events,
        description=description,
        secret=secret,
    )
    return {**record, "signing_secret": secret}


def insert(
    session: Session,
    keyring: Keyring,
    *,
    kind: str,
    url: str,
    events: Sequence[str],
    description: str | None,
    secret: str,
) -> dict[str, Any]:
    """Insert a receiver of any kind, and return it without its secret."""
    one_at_a_time(session, "webhook_subscriptions")
    is_webhook = kind == TargetKind.WEBHOOK
    of_webhook = Subscription.kind == TargetKind.WEBHOOK
    alike = of_webhook if is_webhook else ~of_webhook
    existing = select(func.count()).select_from(Subscription).where(_NOT_DELETED, alike)
    if (session.scalar(existing) or 0) >= MOST_SUBSCRIPTIONS:
        noun = "subscriptions" if is_webhook else "targets of messages"
        raise Conflict(
            f"There are {MOST_SUBSCRIPTIONS} {noun}, which is the limit; delete one first."
        )
    now = utc_now()
    subscription_id = new_id("wh")
    subscription = Subscription(
        id=subscription_id,
        kind=kind,
        url=url,
        events=list(events),
        description=description,
        secret=signing.encrypt(keyring, subscription_id, secret),
        created_at=now,
        updated_at=now,
    )
    session.add(subscription)
    session.flush()
    return _record(subscription)


def get(session: Session, subscription_id: str) -> Subscription:
    """Return a subscription to change, locked where the database has more than one writer."""
    subscription = session.get(Subscription, subscription_id, with_for_update=True)
    if subscription is None or subscription.deleted_at is not None:
        raise NotFound("There is no such webhook.")
    return subscription


def list_page(
    session: Session, request: PageRequest, kinds: Sequence[str] = (TargetKind.WEBHOOK,)
) -> Page[Any]:
    """List receivers of these kinds, newest first; without their secrets."""
    of_kinds = _COLUMNS.where(Subscription.kind.in_(kinds))
    return select_page(session, of_kinds, request, sortable=_SORTABLE, tail=Subscription.id)


def change(
    session: Session,
    subscription_id: str,
    changes: Mapping[str, Any],
    *,
    if_match: str | None = None,
) -> Subscription:
    """Change the given fields; a running attempt keeps the old values, the next uses the new.

    Values that the subscription has already make no new version.

    `active` true clears the failure streak and resumes pending deliveries; false holds them. The
    caller has checked a new URL with `check_url`.

    Raises:
        PreconditionFailed: If-Match names another version.
    """
    subscription = get(session, subscription_id)
    require_match(subscription, if_match)
    if changes.keys() & {"url", "events"}:
        _require_webhook(subscription)
    for field, value in changes.items():
        setattr(subscription, field, value)
    if changes.get("active"):
        subscription.clear_failures()
        subscription.deactivated_at = None
        ring_after_commit(session, SENDER_BELL)
    if session.is_modified(subscription):
        _touch(subscription)
    session.flush()
    return subscription


def remove(session: Session, subscription_id: str) -> None:
    """Delete a subscription: pending deliveries are canceled, the history stays until it expires."""
    subscription = get(session, subscription_id)
    now = utc_now()
    subscription.deleted_at = now
    _touch(subscription)
    cancel_pending(session, subscription_id, now=now)


def rotate_secret(
    session: Session, keyring: Keyring, subscription_id: str, *, overlap_s: int
) -> dict[str, Any]:
    """Replace the secret; the previous one still signs `webhook-signature` during the overlap."""
    subscription = get(session, subscription_id)
    _require_webhook(subscription)
    secret = signing.new_secret()
    subscription.previous_secret = subscription.secret if overlap_s else None
    subscription.previous_secret_expires_at = (
        utc_now() + timedelta(seconds=overlap_s) if overlap_s else None
    )
    subscription.secret = signing.encrypt(keyring, subscription_id, secret)
    _touch(subscription)
    session.flush()
    return {**_record(subscription), "signing_secret": secret}


def cancel_pending(session: Session, subscription_id: str, *, now: datetime) -> None:
    """Cancel every delivery that is not being sent at this moment; a recovery finds them."""
    session.execute(
        update(Delivery)
        .where(Delivery.subscription_id == subscription_id, PENDING)
        .values(state=DeliveryState.CANCELED, finished_at=now)
        .execution_options(synchronize_session=False)
    )


def _touch(subscription: Subscription) -> None:
    subscription.updated_at = utc_now()
    subscription.version += 1


def _require_webhook(subscription: Subscription) -> None:
    if subscription.kind != TargetKind.WEBHOOK:
        raise Conflict(
            "Slack, Teams and e-mail have no events and no signing secret, and keep their address: "
            "create another target instead."
        )


def _record(subscription: Subscription) -> dict[str, Any]:
    return {name: getattr(subscription, name) for name in (*_FIELDS, "version")}
