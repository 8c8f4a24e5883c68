"""Named locks of transactions, for changes that no row lock can protect."""

import hashlib

from sqlalchemy import text
from sqlalchemy.orm import Session

_LOCK = text(
    "SELECT pg_advisory_xact_lock(number) FROM unnest(CAST(:numbers AS bigint[])) AS number"
)


def one_at_a_time(session: Session, *names: str) -> None:
    """Hold these names until the transaction ends; SQLite has a single writer and needs no lock.

    They are locked in one order: transactions that ask once cannot wait for each other in a circle.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(_LOCK, {"numbers": sorted({_number_of(name) for name in names})})


def _number_of(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
