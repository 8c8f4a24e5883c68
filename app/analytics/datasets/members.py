"""Which evaluations an export holds: listed once, in one short read, into a file beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.wishes import Wish
from app.evaluations import listing
from app.evaluations.models import Evaluation

_OF = Evaluation.__table__.c


def list_into(session: Session, wish: Wish, path: Path) -> int:
    """Write the ids of all evaluations that are meant, the oldest first; return how many.

    What is exported is fixed by this: nothing is left out or comes twice however long the rest
    takes, and no transaction stays open for it.
    """
    wanted = select(_OF.id).where(*listing.conditions(**_filters(wish))).order_by(_OF.id)
    count = 0
    with path.open("w", encoding="ascii") as file:
        for ids in session.scalars(wanted.execution_options(yield_per=10_000)).partitions():
            file.write("\n".join(ids) + "\n")
            count += len(ids)
    return count


def batches(path: Path, size: int) -> Iterator[list[str]]:
    """Yield the ids in batches."""
    batch: list[str] = []
    with path.open(encoding="ascii") as file:
        for line in file:
            batch.append(line.rstrip("\n"))
            if len(batch) == size:
                yield batch
                batch = []
    if batch:
        yield batch


def _filters(wish: Wish) -> dict[str, Any]:
    filters = dict(wish.filters)
    if wish.start is not None:
        filters["start"] = wish.start
    if wish.end is not None:
        filters["end"] = wish.end
    return filters
