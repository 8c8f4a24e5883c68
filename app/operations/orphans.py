"""Orphaned objects: files of the storage that no row needs, left behind by a crash."""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby

from app.analytics import jobs as exports
from app.audio_files import jobs as audio_files
from app.audio_files.playback import jobs as playback
from app.core.runtime import Runtime
from app.imports import jobs as imports

logger = logging.getLogger(__name__)

# The storage is searched in this many parts, one an hour.
PARTS = 24
_BATCH = 500
# By id prefix: returns those of the given objects that no row needs.
_FIND_ORPHANED: dict[str, Callable[[Runtime, Sequence[str]], Sequence[str]]] = {
    "aud": audio_files.orphaned,
    "exp": exports.orphaned,
    "imp": imports.orphaned,
    "par": exports.orphaned_parts,
    "play": playback.orphaned,
    "wave": playback.orphaned,
}


def delete_orphans(runtime: Runtime, part: int) -> int:
    """Delete the orphans of one part of the storage that are older than a day; return how many."""
    count = 0
    object_ids = sorted(runtime.storage.object_ids(part, PARTS))
    for prefix, ids in groupby(object_ids, key=lambda object_id: object_id.partition("_")[0]):
        ids_of_kind = list(ids) if prefix in _FIND_ORPHANED else []
        for first in range(0, len(ids_of_kind), _BATCH):
            for object_id in _FIND_ORPHANED[prefix](runtime, ids_of_kind[first : first + _BATCH]):
                count += runtime.storage.delete_old(object_id)
    if count:
        logger.info("deleted %d orphaned objects of the storage", count)
    return count
