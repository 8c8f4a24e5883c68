"""Failures that end a command with a sentence for the person who gave it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from app.core.errors import AppError
from app.core.secrets.encryption import UnknownMasterKey
from app.core.settings import SettingsError


class CannotRun(Exception):
    """Something needed is missing or taken; the text says what and how to mend it."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Print what cannot be done, without a traceback, and exit with 1 (2: a wrong setting)."""
    try:
        yield
    except SettingsError as error:
        _end(str(error), 2)
    except (CannotRun, UnknownMasterKey) as error:
        _end(str(error), 1)
    except AppError as error:
        _end(error.message, 1)


def _end(text: str, code: int) -> NoReturn:
    sys.stderr.write(f"cqe: {text}\n")
    sys.exit(code)
