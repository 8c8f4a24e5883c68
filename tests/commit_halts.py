"""Halts a process at a commit, for a test that kills it right there.

With `HALT_AT=before_commit:2` in its environment a process logs that it halts, and waits, when its
second writing session is about to commit; with `after_commit:1` when its first has committed.
`commit:2` means the second commit, with or without a session. The process says which commits count.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

WORD = "halted for the test"


def anything(_: Session) -> bool:
    return True


def rings(session: Session) -> bool:
    """Return whether the transaction rings the sender's bell: an event was published in it."""
    return any(bell.queue == "webhooks" for bell in session.info.get("bells", []))


def writes(table: str) -> Callable[[Any], bool]:
    """Make a rule: count a commit if its transaction, in the same thread, has written to a table."""
    transaction = threading.local()

    @event.listens_for(Engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith((f"INSERT INTO {table}", f"UPDATE {table}")):
            transaction.has_written = True

    def has_written(_: Any) -> bool:
        return bool(transaction.__dict__.pop("has_written", False))

    return has_written


def obey(counts: Callable[[Any], bool]) -> None:
    """Listen for the commit that the environment names, among those that count."""
    moment, _, number = os.environ.get("HALT_AT", "").partition(":")
    if not moment:
        return
    left = int(number)

    def halt(committing: Any) -> None:
        nonlocal left
        left -= counts(committing)
        if left == 0:
            sys.stderr.write(f"{WORD}\n")
            sys.stderr.flush()
            time.sleep(600)

    event.listen(Engine if moment == "commit" else Session, moment, halt)
