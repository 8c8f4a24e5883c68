"""Small numbers for ids: facts are narrow, and grouping by a number is quick."""

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.models import FactCode
from app.core.database.upserts import upsert_into

# What no fact has: codes begin at 1.
UNKNOWN = 0


def code_of(session: Session, key: str) -> int:
    """Return the code of an id; `UNKNOWN` where no fact has it."""
    return session.scalar(select(FactCode.code).where(FactCode.key == key)) or UNKNOWN


def codes_of(session: Session, keys: Iterable[str | None]) -> dict[str, int]:
    """Return the codes of ids, made where they are new."""
    wanted = {key for key in keys if key}
    found = known(session, wanted)
    missing = sorted(wanted - set(found))
    if missing:
        new = upsert_into(session, FactCode).values([{"key": key} for key in missing])
        session.execute(new.on_conflict_do_nothing())
        found = known(session, wanted)
    return found


def keys_of(session: Session, codes: Iterable[int]) -> dict[int, str]:
    """Map codes to the ids that they stand for."""
    rows = session.execute(select(FactCode.code, FactCode.key).where(FactCode.code.in_(codes)))
    return dict(rows.all())


def known(session: Session, keys: Iterable[str]) -> dict[str, int]:
    """Return the codes of those ids that have one."""
    rows = session.execute(select(FactCode.key, FactCode.code).where(FactCode.key.in_(keys)))
    return dict(rows.all())
