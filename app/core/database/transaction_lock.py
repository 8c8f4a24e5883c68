"""A lock with a name, held to the end of a transaction, where rows alone cannot be locked."""

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def one_at_a_time(session: Session, name: str) -> None:
    """Wait until no other transaction holds this name; a writer of SQLite is alone anyway."""
    if session.get_bind().dialect.name == "postgresql":
        digest = hashlib.sha256(name.encode()).digest()
        number = int.from_bytes(digest[:8], "big", signed=True)
        session.execute(select(func.pg_advisory_xact_lock(number)))
