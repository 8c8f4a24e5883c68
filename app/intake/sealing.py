"""Encryption of the settings of sources, and of what they have sent."""

from collections.abc import Iterator, Mapping

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.jobs import leases
from app.core.jobs.leases import JobState
from app.core.secrets.encryption import Keyring
from app.intake.models import IntakeDelivery, IntakeSource

_BATCH = 20


def seal_config(keyring: Keyring, name: str, config: Mapping[str, str]) -> str:
    return keyring.encrypt(orjson.dumps(config), purpose=_of_source(name))


def unseal_config(keyring: Keyring, source: IntakeSource) -> dict[str, str]:
    """Decrypt the settings of a source; raises `UnknownMasterKey`."""
    purpose = _of_source(source.name)
    config: dict[str, str] = orjson.loads(keyring.decrypt(source.sealed_config, purpose=purpose))
    return config


def seal_body(keyring: Keyring, delivery_id: str, body: bytes) -> str:
    """Encrypt a body; the token is bound to its delivery."""
    return keyring.encrypt(body, purpose=_of_delivery(delivery_id))


def unseal_body(keyring: Keyring, delivery: IntakeDelivery) -> bytes:
    """Decrypt the body of a delivery; raises `UnknownMasterKey`."""
    return keyring.decrypt(delivery.sealed_body or "", purpose=_of_delivery(delivery.id))


def rewrap(session: Session, keyring: Keyring) -> int:
    """Encrypt a batch again that an older master key encrypted; return how many."""
    older = f"v1.{keyring.current_id}.%"
    sources = session.scalars(
        select(IntakeSource).where(IntakeSource.sealed_config.not_like(older)).with_for_update()
    ).all()
    for source in sources:
        source.sealed_config = keyring.rewrap(source.sealed_config, purpose=_of_source(source.name))
    deliveries = session.scalars(
        select(IntakeDelivery)
        .where(IntakeDelivery.sealed_body.is_not(None), IntakeDelivery.sealed_body.not_like(older))
        .limit(_BATCH)
        .with_for_update()
    ).all()
    for delivery in deliveries:
        delivery.sealed_body = keyring.rewrap(
            delivery.sealed_body or "", purpose=_of_delivery(delivery.id)
        )
    return len(sources) + len(deliveries)


def discard(session: Session, keyring: Keyring) -> int:
    """Delete the sources whose master key is lost, and end what they have sent; return how many."""
    sources = [
        source
        for source in session.scalars(select(IntakeSource))
        if not keyring.has(keyring.key_id_of(source.sealed_config))
    ]
    for source in sources:
        session.delete(source)
    sealed = select(IntakeDelivery).where(IntakeDelivery.sealed_body.is_not(None))
    lost = [
        delivery
        for delivery in session.scalars(sealed)
        if not keyring.has(keyring.key_id_of(delivery.sealed_body or ""))
    ]
    for delivery in lost:
        delivery.sealed_body = None
        if delivery.state in leases.OPEN_STATES:
            delivery.error = {
                "code": "BYTES_MISSING",
                "message": "What was sent was lost with its master key.",
            }
            leases.end(delivery, JobState.FAILED, utc_now())
    return len(sources) + len(lost)


def sealed_secrets(session: Session) -> Iterator[tuple[str, str]]:
    for name, token in session.execute(select(IntakeSource.name, IntakeSource.sealed_config)):
        yield token, _of_source(name)
    sealed = select(IntakeDelivery.id, IntakeDelivery.sealed_body)
    for row_id, body in session.execute(sealed.where(IntakeDelivery.sealed_body.is_not(None))):
        yield str(body), _of_delivery(row_id)


def _of_source(name: str) -> str:
    return f"intake_source:{name}"


def _of_delivery(delivery_id: str) -> str:
    return f"intake_delivery:{delivery_id}"
