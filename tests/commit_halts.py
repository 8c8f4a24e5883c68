"""Halts a process at a commit, for a test that kills it right there.

With `HALT_AT=before_commit:2` in its environment a process logs that it halts, and waits, when its
second writing session is about to commit; with `after_commit:1` when its first has committed.
`commit:2` means the second commit of all, with or without a session.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

WORD = "halted for the test"


def anything(_: Session) -> bool:
    return True


def rings(session: Session) -> bool:
    """Whether the transaction rings the sender's bell: an event was published in it."""
    return any(bell.queue == "webhooks" for bell in session.info.get("bells", []))


def obey(counts: Callable[[Session], bool]) -> None:
    """Listen for the commit that the environment names, among those that count."""
    moment, _, number = os.environ.get("HALT_AT", "").partition(":")
    if not moment:
        return
    left = int(number)

    def halt(committing: Any) -> None:
        nonlocal left
        left -= moment == "commit" or counts(committing)
        if left == 0:
            sys.stderr.write(f"{WORD}\n")
            sys.stderr.flush()
            time.sleep(600)

    event.listen(Engine if moment == "commit" else Session, moment, halt)
