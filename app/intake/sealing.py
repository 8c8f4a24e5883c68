"""Encryption of the settings of sources, and of what they have sent."""

from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.sealed import SealedColumn
from app.core.jobs import leases
from app.core.jobs.leases import JobState
from app.core.secrets.encryption import Keyring
from app.intake.models import IntakeDelivery, IntakeSource


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


def _of_source(name: str) -> str:
    return f"intake_source:{name}"


def _of_delivery(delivery_id: str) -> str:
    return f"intake_delivery:{delivery_id}"


def _give_up(_: Session, __: Keyring, lost: Sequence[IntakeDelivery]) -> None:
    message = "What was sent was lost with its master key."
    for delivery in lost:
        delivery.sealed_body = None
        if delivery.state in leases.OPEN_STATES:
            delivery.error = {"code": "BYTES_MISSING", "message": message}
            leases.end(delivery, JobState.FAILED, utc_now())


CONFIGS = SealedColumn("source", IntakeSource.sealed_config, _of_source)
BODIES = SealedColumn("intake", IntakeDelivery.sealed_body, _of_delivery, _give_up)
