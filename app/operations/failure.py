"""Failures that end a command with a message and without a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from app.core.errors import AppError
from app.core.secrets.encryption import UnknownMasterKey
from app.core.settings import SettingsError


class CannotRun(Exception):
    """A command cannot run; the text says what is wrong and what to do."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print expected errors without a traceback and exit with 1, or with 2 for a wrong setting."""
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
