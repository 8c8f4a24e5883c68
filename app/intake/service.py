"""Sources and what they send: switched on and off, taken once, tried again, shown and purged."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session, defer

from app.core.clock import utc_now
from app.core.database.rows import find_row
from app.core.database.session import ring_after_commit
from app.core.database.upserts import insert_missing
from app.core.errors import Conflict, InvalidInput
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.core.secrets.encryption import Keyring
from app.evaluations import sources as references
from app.intake import sealing
from app.intake.models import IntakeDelivery, IntakeSource
from app.intake.vendor import OWN_ADDRESS, Config, Vendor

QUEUE = "intake"
bell = partial(Bell, QUEUE)
# How long the body of a failed delivery waits to be tried again.
BODY_KEPT_FOR = timedelta(days=3)
_NOTED_EVERY = timedelta(seconds=10)
_LATEST = 50


def switch_on(
    session: Session,
    keyring: Keyring,
    vendor: Vendor,
    given: Mapping[str, str],
    defaults: Mapping[str, str],
    removed: Collection[str] = (),
) -> None:
    """Switch a source on, or change its settings.

    A secret that is left empty stays as it is, unless it is among those `removed`, or would be sent to
    another address.

    Raises:
        InvalidInput: a setting has another form, or a default does not exist.
    """
    row = session.get(IntakeSource, vendor.name, with_for_update=True)
    earlier = sealing.unseal_config(keyring, row) if row is not None else {}
    kept = {name: value for name, value in earlier.items() if name not in removed}
    config = _checked(vendor, given, kept)
    references.resolve(
        session,
        {reference.column: defaults.get(reference.field) for reference in references.REFERENCES},
    )
    now = utc_now()
    if row is None:
        row = IntakeSource(name=vendor.name, created_at=now)
        session.add(row)
    row.active, row.updated_at, row.defaults = True, now, dict(defaults)
    row.refused_at = row.refusal = None
    row.sealed_config = sealing.seal_config(keyring, vendor.name, config)


def _checked(vendor: Vendor, given: Mapping[str, str], earlier: Config) -> dict[str, str]:
    config = {}
    address = earlier.get(OWN_ADDRESS.name, "")
    is_moved = given.get(OWN_ADDRESS.name, "").strip() != address
    for setting in vendor.settings:
        value = given.get(setting.name, "").strip()
        if not value and setting.is_secret and not is_moved:
            value = earlier.get(setting.name, "")
        if not value and setting.is_optional:
            continue
        if not re.fullmatch(setting.pattern, value):
            fault = "has another form than this" if value else "is needed"
            raise InvalidInput.field(
                setting.name, f"{setting.label} {fault}. {setting.hint}".strip()
            )
        config[setting.name] = value
    return config


def switch_off(session: Session, name: str) -> None:
    """Switch a source off: its requests are answered with 404 from now on."""
    row = find_row(session, IntakeSource, name, "source", for_update=True)
    row.active, row.updated_at = False, utc_now()


def config_of(
    session: Session, keyring: Keyring, name: str
) -> tuple[Config, Mapping[str, str]] | None:
    """Return the settings and the defaults of a source; None if it is switched off."""
    row = session.get(IntakeSource, name)
    if row is None or not row.active:
        return None
    return sealing.unseal_config(keyring, row), row.defaults


def shown_config(
    session: Session, keyring: Keyring, vendor: Vendor
) -> tuple[dict[str, str], list[str]]:
    """Return the settings of a source that are no secrets, and the names of secrets to be removed."""
    row = session.get(IntakeSource, vendor.name)
    config = sealing.unseal_config(keyring, row) if row is not None else {}
    shown, removable = {}, []
    for setting in vendor.settings:
        if not setting.is_secret:
            shown[setting.name] = config.get(setting.name, "")
        elif setting.is_optional and setting.name in config:
            removable.append(setting.name)
    return shown, removable


def states(session: Session) -> dict[str, tuple[IntakeSource, dict[str, int]]]:
    """Return each source that was switched on once, and its deliveries of 24 hours by state."""
    since = utc_now() - timedelta(days=1)
    sources = {row.name: row for row in session.scalars(select(IntakeSource))}
    # By name, as the index is.
    rows = session.execute(
        select(IntakeDelivery.source, IntakeDelivery.state, func.count())
        .where(IntakeDelivery.source.in_(sources), IntakeDelivery.queued_at >= since)
        .group_by(IntakeDelivery.source, IntakeDelivery.state)
    )
    counts: dict[str, dict[str, int]] = {}
    for name, state, number in rows:
        counts.setdefault(name, {})[state] = number
    return {name: (row, counts.get(name, {})) for name, row in sources.items()}


def latest(session: Session, name: str) -> Sequence[IntakeDelivery]:
    """Return the latest deliveries of a source, without their bodies."""
    return session.scalars(
        select(IntakeDelivery)
        .options(defer(IntakeDelivery.sealed_body))
        .where(IntakeDelivery.source == name)
        .order_by(IntakeDelivery.queued_at.desc(), IntakeDelivery.id.desc())
        .limit(_LATEST)
    ).all()


def accept(
    session: Session, delivery_id: str, *, source: str, digest: str, sealed_body: str
) -> bool:
    """Queue a delivery; return False, and do nothing, if the same was sent before."""
    is_new = insert_missing(
        session,
        IntakeDelivery,
        id=delivery_id,
        source=source,
        digest=digest,
        sealed_body=sealed_body,
    )
    if is_new:
        ring_after_commit(session, bell(delivery_id))
    return is_new


def note_refusal(session: Session, name: str, reason: str) -> None:
    """Note why a request of a source was refused, unless one was noted a moment ago."""
    now = utc_now()
    is_due = IntakeSource.refused_at.is_(None) | (IntakeSource.refused_at < now - _NOTED_EVERY)
    session.execute(
        update(IntakeSource)
        .where(IntakeSource.name == name, is_due)
        .values(refused_at=now, refusal=reason)
    )


def finish(
    session: Session,
    lease: Lease[IntakeDelivery],
    outcome: str,
    external_id: str | None,
    missing: str | None = None,
) -> None:
    """End a delivery whose record is stored, and delete its body; say what of it is missing."""
    row = leases.held(session, lease)
    if missing is not None:
        row.error = {"code": "SOUND_MISSING", "message": missing}
    row.outcome, row.external_id, row.sealed_body = outcome, external_id, None
    leases.end(row, JobState.SUCCEEDED, utc_now())


def fail(session: Session, lease: Lease[IntakeDelivery], code: str, message: str) -> None:
    """End a delivery as failed; its body is kept for three days."""
    row = leases.held(session, lease)
    row.error = {"code": code, "message": message}
    leases.end(row, JobState.FAILED, utc_now())


def try_again(session: Session, delivery_id: str) -> None:
    row = find_row(session, IntakeDelivery, delivery_id, "delivery", for_update=True)
    if row.state != JobState.FAILED or row.sealed_body is None:
        raise Conflict("Only a delivery that has failed within three days can be tried again.")
    row.error = row.completed_at = None
    row.attempts = 0
    row.queued_at = utc_now()
    leases.requeue(row, due_at=row.queued_at, counts=True)
    ring_after_commit(session, bell(row.id))


def forget_bodies(session: Session, *, before: datetime) -> None:
    """Delete the bodies of deliveries that failed before a time."""
    session.execute(
        update(IntakeDelivery)
        .where(IntakeDelivery.completed_at < before, IntakeDelivery.sealed_body.is_not(None))
        .values(sealed_body=None)
    )
