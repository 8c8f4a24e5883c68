"""Files of parts: in a folder of this host, and in the storage where several hosts share one."""

import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.analytics.engine import parts
from app.analytics.engine.database import FactDatabase, spill_folder
from app.analytics.engine.parts import Part
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable

logger = logging.getLogger(__name__)

OBJECT_PREFIX = "par"
# A file that is no longer registered is kept for running readers.
_KEPT_S = 600
_SPILL_KEPT_S = 86_400


def object_id(part: Part) -> str:
    """Return the name of a part in the storage."""
    return f"{OBJECT_PREFIX}_{part.path.stem.replace('-', '_')}"


def share(database: FactDatabase, new: Iterable[Part]) -> None:
    """Copy new parts into the shared storage, if there is one."""
    if database.storage is not None:
        for part in new:
            with part.path.open("rb") as file:
                database.storage.write(object_id(part), file, size_bytes=part.size_bytes)


def withdraw(database: FactDatabase, former: Iterable[Part]) -> None:
    """Delete replaced parts from the shared storage; a failure leaves an orphan."""
    if database.storage is None:
        return
    try:
        for part in former:
            database.storage.delete(object_id(part))
    except ServiceUnavailable as error:
        logger.warning("replaced parts stay in the storage for now: %s", error)


def fetch_missing(db: Database, database: FactDatabase) -> None:
    """Copy the parts that this host lacks from the shared storage, outside of any transaction.

    Raises:
        StorageAway: the storage does not answer.
    """
    if database.storage is None:
        return
    with db.reading() as session:
        registered = parts.registered(session, database.folder)
    fetched = [_fetch(database, part) for part in registered if not part.is_readable]
    if any(fetched):
        delete_unused(db, database.folder)


def delete_unused(db: Database, folder: Path, *, kept_s: float = _KEPT_S) -> int:
    """Delete unregistered files, and spill folders of killed processes; return how many."""
    now = time.time()
    unused = [
        *(file for file in folder.glob("*.par*") if file.stat().st_mtime < now - kept_s),
        *(file for file in folder.glob("spill-*") if file.stat().st_mtime < now - _SPILL_KEPT_S),
    ]
    with db.reading() as session:
        in_use = {part.path for part in parts.registered(session, folder)}
    in_use.add(spill_folder(folder, os.getpid()))
    unused = [file for file in unused if file not in in_use]
    for file in unused:
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
    return len(unused)


def orphaned(registered: Sequence[Part], object_ids: Sequence[str]) -> list[str]:
    """Return those of these objects that belong to no registered part."""
    known = {object_id(part) for part in registered}
    return [name for name in object_ids if name not in known]


def _fetch(database: FactDatabase, part: Part) -> bool:
    assert database.storage is not None  # noqa: S101 - checked by the caller
    with database.storage.local_copy(object_id(part)) as copy:
        if copy is None or copy.path.stat().st_size != part.size_bytes:
            return False
        # Under a name of its own, because other processes may fetch the same part.
        partial = part.path.with_suffix(f".part-{secrets.token_hex(8)}")
        shutil.copyfile(copy.path, partial)
    os.replace(partial, part.path)
    return True
