"""Statements that a service sends to its database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from app.core.runtime import Runtime


@contextmanager
def statements_of(runtime: Runtime) -> Iterator[list[str]]:
    """Collect the statements that the service sends to its database."""
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        # A key is remembered for some seconds.
        if "key_hash" not in statement:
            sent.append(statement)

    event.listen(runtime.db.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(runtime.db.engine, "before_cursor_execute", note)
