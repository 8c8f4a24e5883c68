"""Parts that commands share: their name, errors as messages, options, and what they print."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from app.core.clock import as_utc, iso_utc
from app.core.errors import AppError, InvalidInput

_CHECKOUT = Path(__file__).resolve().parents[2]

# Only a checkout contains the script `run`.
COMMAND = "./run" if (_CHECKOUT / "run").is_file() else "cqe"


@contextmanager
def errors_as_messages(way_out: str = "") -> Iterator[None]:
    """Turn errors of the service into messages of the command; usable as a decorator, too.

    A damaged database has a way out of its own (`app.operations.failure`).
    """
    try:
        yield
    except AppError as error:
        # Not at the top: help is shown without any library of the service.
        from sqlalchemy.exc import DatabaseError  # noqa: PLC0415

        if type(error.__cause__) in (DatabaseError, sqlite3.DatabaseError):
            raise
        message = f"{message_of(error)} {way_out}".rstrip()
        raise click.ClickException(printable(message)) from error


def message_of(error: AppError) -> str:
    """Return the message of an error: of invalid input, each invalid field with its problem."""
    if isinstance(error, InvalidInput) and error.details:
        return "; ".join(f"{detail['field']}: {detail['message']}" for detail in error.details)
    return error.message


def printable(text: str) -> str:
    """Replace by `?` what would move the cursor, change colours or reorder a line of a terminal.

    The names of files and the texts of others may contain any character.
    """
    return "".join(character if character.isprintable() else "?" for character in text)


def print_line(text: str, *, err: bool = False) -> None:
    """Print one line, whatever characters its text has."""
    click.echo(printable(text), err=err)


def moment(_: object, __: object, text: str | None) -> datetime | None:
    """Parse the ISO 8601 time of an option, as its callback; it needs an offset."""
    try:
        return as_utc(datetime.fromisoformat(text)) if text else None
    except ValueError as error:
        message = "this must be an ISO 8601 time with an offset, such as 2026-11-21T09:00:00Z"
        raise click.BadParameter(message) from error


def filters_of(pairs: Iterable[str], *, texts: Collection[str]) -> dict[str, Any]:
    """Parse NAME=VALUE options; a value that is JSON is parsed as JSON, unless its filter is a text."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name in values:
            raise click.BadParameter(f"{pair!r} must be NAME=VALUE, with each name once")
        values[name] = text
        if name not in texts:
            with suppress(ValueError):
                values[name] = json.loads(text)
    return values


def print_json(value: Any) -> None:
    """Print a value of JSON types and times, indented."""
    click.echo(json.dumps(value, default=iso_utc, indent=2, ensure_ascii=False))
