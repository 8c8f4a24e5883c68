"""Stored answers of POST requests, written in the same transaction as their effect."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.core.clock import utc_now
from app.core.database.session import Table, UtcDateTime
from app.core.database.upserts import insert_missing
from app.core.errors import IdempotencyKeyReused
from app.core.secrets.encryption import Keyring

_LIFE = timedelta(hours=24)


class StoredAnswerRow(Table):
    """One answered POST; the answer is encrypted, since it may hold a secret."""

    __tablename__ = "idempotency_answers"

    key_id: Mapped[str] = mapped_column(primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[str]
    answer: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, index=True)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    status: int
    body: bytes
    headers: dict[str, str]


class Replay(Exception):
    """The request was answered before; carries that answer."""

    def __init__(self, answer: StoredAnswer) -> None:
        self.answer = answer
        super().__init__("answered before")


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with an Idempotency-Key: its API key, its key and its fingerprint."""

    key_id: str
    idempotency_key: str
    fingerprint: str
    now: datetime

    @property
    def _purpose(self) -> str:
        return f"idempotency:{self.key_id}:{self.idempotency_key}"

    def claim(self, session: Session, keyring: Keyring) -> None:
        """Insert the row of this request, waiting while the same request runs.

        Raises:
            Replay: the same request was answered before.
            IdempotencyKeyReused: the key was used for another request.
        """
        self.replay(session, keyring)
        session.execute(
            delete(StoredAnswerRow).where(
                StoredAnswerRow.key_id == self.key_id,
                StoredAnswerRow.idempotency_key == self.idempotency_key,
                # Not an answer that was stored since the line above.
                StoredAnswerRow.created_at <= self.now - _LIFE,
            )
        )
        is_inserted = insert_missing(
            session,
            StoredAnswerRow,
            key_id=self.key_id,
            idempotency_key=self.idempotency_key,
            fingerprint=self.fingerprint,
            created_at=self.now,
        )
        if not is_inserted:
            self.replay(session, keyring)

    def replay(self, session: Session, keyring: Keyring) -> None:
        """Raise what `claim` raises when the request was answered before; else do nothing."""
        row = session.execute(
            select(StoredAnswerRow.fingerprint, StoredAnswerRow.answer).where(
                StoredAnswerRow.key_id == self.key_id,
                StoredAnswerRow.idempotency_key == self.idempotency_key,
                StoredAnswerRow.created_at > self.now - _LIFE,
            )
        ).first()
        if row is None or row.answer is None:
            return
        if row.fingerprint != self.fingerprint:
            raise IdempotencyKeyReused()
        parts = orjson.loads(keyring.decrypt(row.answer, purpose=self._purpose))
        raise Replay(StoredAnswer(parts["status"], parts["body"].encode(), parts["headers"]))

    def complete(self, session: Session, keyring: Keyring, answer: StoredAnswer) -> None:
        """Store the answer in the transaction of its effect."""
        row = session.get_one(StoredAnswerRow, (self.key_id, self.idempotency_key))
        parts = {"status": answer.status, "body": answer.body.decode(), "headers": answer.headers}
        row.answer = keyring.encrypt(orjson.dumps(parts), purpose=self._purpose)


def fingerprint(method: str, target: str, body: bytes) -> str:
    """Return the SHA-256 of the method, target and body of a request."""
    return hashlib.sha256(b"\n".join([method.encode(), target.encode(), body])).hexdigest()


def purge(session: Session) -> None:
    """Delete answers older than a day."""
    session.execute(delete(StoredAnswerRow).where(StoredAnswerRow.created_at < utc_now() - _LIFE))
