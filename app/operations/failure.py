"""Failures that end a command with a message and without a traceback."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from app.core.commands import COMMAND, printable
from app.core.errors import AppError
from app.core.secrets.encryption import UnknownMasterKey
from app.core.settings import SettingsError
from app.core.storage.objects import ForeignStorage


class CannotRun(Exception):
    """A command cannot run; the text says what is wrong and what to do."""


EXPECTED = (
    AppError,
    CannotRun,
    DBAPIError,
    ForeignStorage,
    OSError,
    SettingsError,
    UnknownMasterKey,
    sqlite3.Error,
)


def text_of(error: Exception) -> str:
    """Return what an expected error says to the person at the terminal."""
    if isinstance(error, AppError):
        if not isinstance(error.__cause__, DBAPIError | sqlite3.Error):
            return error.message
        error = error.__cause__
    if isinstance(error, sqlite3.Error | DBAPIError):
        reason = error.orig if isinstance(error, DBAPIError) else error
        text = " ".join(str(reason).split())
        # SQLite's errors of damaged files have no class of their own.
        if type(reason) is sqlite3.DatabaseError:
            return f"the database is damaged: {text}. Restore a backup (docs/backup.md)"
        if isinstance(reason, sqlite3.Error):
            return (
                f"the database cannot be used: {text}; can its folder be written, and has it space?"
            )
        return f"the database cannot be used: {text}; run `{COMMAND} doctor`"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print expected errors without a traceback and exit with 1, or with 2 for a wrong setting."""
    try:
        yield
    except EXPECTED as error:
        sys.stderr.write(f"cqe: {printable(text_of(error))}\n")
        sys.exit(2 if isinstance(error, SettingsError) else 1)
