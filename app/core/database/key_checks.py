"""Check values of master keys: by them a process notices that it has other keys than the database."""

import hmac
from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import delete, inspect, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.commands import COMMAND
from app.core.database.session import Table, UtcDateTime
from app.core.database.upserts import insert_missing
from app.core.secrets.encryption import Keyring, UnknownMasterKey

_LABEL = "cqe/master-key-check/v1"


class MasterKeyCheck(Table):
    """A master key that encrypts secrets of this database, and a value that only this key gives."""

    __tablename__ = "master_key_checks"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)


def require_matching(session: Session, keyring: Keyring) -> None:
    """Raise `UnknownMasterKey` if a recorded master key is missing here or is another key."""
    recorded = recorded_values(session)
    if missing := [key_id for key_id in recorded if not keyring.has(key_id)]:
        raise UnknownMasterKey(missing_keys(missing))
    for key_id, value in recorded.items():
        if not hmac.compare_digest(value.encode(), _value_of(keyring, key_id).encode()):
            raise UnknownMasterKey(
                f"the master key {key_id!r} is not the one that encrypted the secrets of this "
                "database: put the right master.keys (or CQE_MASTER_KEYS) back, or use the database "
                "that belongs to this key"
            )


def missing_keys(key_ids: list[str]) -> str:
    """Return the sentence about master keys that the database needs and this process lacks."""
    return (
        f"stored secrets need the master keys {', '.join(sorted(key_ids))}: add them to "
        f"CQE_MASTER_KEYS (or to master.keys) after the new one, and run `{COMMAND} secrets rewrap`"
    )


def recorded_values(session: Session) -> Mapping[str, str]:
    """Map the ids of the recorded master keys to their check values."""
    rows = session.execute(select(MasterKeyCheck.key_id, MasterKeyCheck.value))
    return {row.key_id: row.value for row in rows}


def recorded_if_any(session: Session) -> Mapping[str, str]:
    """Return the recorded values; none for tables of a version that recorded no keys."""
    if not inspect(session.connection()).has_table(MasterKeyCheck.__tablename__):
        return {}
    return recorded_values(session)


def record_current(session: Session, keyring: Keyring) -> None:
    """Record the key that encrypts from now on."""
    insert_missing(
        session,
        MasterKeyCheck,
        key_id=keyring.current_id,
        value=_value_of(keyring, keyring.current_id),
        created_at=utc_now(),
    )


def forget_others(session: Session, key_ids: Collection[str]) -> None:
    """Forget all keys but these: nothing needs the others any more."""
    session.execute(delete(MasterKeyCheck).where(MasterKeyCheck.key_id.not_in(key_ids)))


def _value_of(keyring: Keyring, key_id: str) -> str:
    return keyring.subkey(_LABEL, key_id).hex()
