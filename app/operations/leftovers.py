"""Objects that nothing keeps: what a crash left between the bytes and the row, found and deleted."""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby

from app.analytics import jobs as exports
from app.audio_files import jobs as audio_files
from app.core.runtime import Runtime

logger = logging.getLogger(__name__)

# The storage is looked at in so many steps, an hour each.
PARTS = 24
_OLDER_THAN_S = 86_400.0
_AT_ONCE = 500
# Who owns the objects of an id prefix, and names those among a few that nothing keeps.
_OWNERS: dict[str, Callable[[Runtime, Sequence[str]], Sequence[str]]] = {
    "aud": audio_files.unkept,
    "exp": exports.unkept,
}


def sweep(runtime: Runtime, part: int) -> int:
    """Delete what nothing keeps for a day in one part of the storage; return how many objects."""
    count = 0
    found = sorted(runtime.storage.object_ids(part, PARTS))
    for prefix, ids in groupby(found, key=lambda each: each.partition("_")[0]):
        owned = list(ids) if prefix in _OWNERS else []
        for first in range(0, len(owned), _AT_ONCE):
            for object_id in _OWNERS[prefix](runtime, owned[first : first + _AT_ONCE]):
                count += runtime.storage.delete_old(object_id, older_than_s=_OLDER_THAN_S)
    if count:
        logger.info("%d stored objects that nothing keeps were deleted", count)
    return count
