"""Work on campaigns outside of requests: moving and renaming what is of those that were changed."""

import time

from app.core.process import stopping
from app.core.runtime import Runtime

# The other periodic tasks wait for these.
_BATCHES = 20
_BETWEEN_BATCHES_S = 0.05


def follow_changes(runtime: Runtime) -> None:
    """Move and rename some of what is of campaigns that were merged or renamed.

    Each batch looks for the rows itself. So what is left, also by a kill, is found by the next call.
    """
    left = _BATCHES
    for follow in runtime.hooks.campaign_batches:
        while left and not stopping.requested():
            with runtime.db.writing() as session:
                if not follow(session):
                    break
            left -= 1
            time.sleep(_BETWEEN_BATCHES_S)
