"""Named locks of transactions, for changes that no row lock can protect."""

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def one_at_a_time(session: Session, name: str) -> None:
    """Hold this name until the transaction ends; SQLite has a single writer and needs no lock."""
    if session.get_bind().dialect.name == "postgresql":
        digest = hashlib.sha256(name.encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        session.execute(select(func.pg_advisory_xact_lock(number)))
